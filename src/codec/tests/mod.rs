//! Tests of this module: what records and values become, and what is refused.

mod generate;
mod model;
mod oracle;
mod packed;
mod records;
mod values;
