//! Workers as processes: what they do together, and what a user sees of it.

mod amiss;
mod edits;
mod fleet;
mod losses;
mod probes;
mod process;
mod reshards;
mod same;
mod storm;
