//! When operations come, and when they end: arrivals, limits, semaphores and tokens.

pub mod coordination;
pub mod limits;
pub mod pacing;
