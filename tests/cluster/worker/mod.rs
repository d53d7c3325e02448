//! Workers as processes: what they do together, and what a user sees of it.

mod fleet;
mod losses;
mod process;
