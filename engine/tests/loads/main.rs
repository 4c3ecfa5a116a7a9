//! Loads carried out by the engine itself on a real directory: what is counted must be what is there.

mod actions;
mod among;
mod harness;
mod operations;
mod plans;
mod programs;
mod queues;
mod refused;
mod repetition;
mod scripts;
mod shared_names;
