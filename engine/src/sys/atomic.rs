//! Atomics of what workers share. In `engine/models` the same structures are compiled with those of a model checker.

pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
