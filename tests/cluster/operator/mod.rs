//! The operator as its users see it: a real API server, the controller in this process, workers played by the test.

mod cutover;
mod faults;
mod life;
mod play;
mod workload;
