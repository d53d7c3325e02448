//! Coordination as its users see it: the store held to its contract, and whole fleets in simulated time.

mod broken;
#[path = "../../support/conformance.rs"]
mod conformance;
mod driver;
mod fleet;
mod runs;
mod stores;
