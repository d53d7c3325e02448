//! Tests of this module: what records and values become, and what is refused.

mod generate;
mod values;
