//! The load engine of Assay.
//!
//! One Plan comes in ([`plan`]), one stream of events goes out ([`events`]). Between them `run` walks through the
//! phases, `worker` holds the op loop, `load` says what each operation is, `backend` takes it to the kernel, `observe`
//! reads what the host says at the same tick, and `histogram` keeps every latency.

pub mod clock;
pub mod emit;
pub mod error;
pub mod events;
pub mod load;
pub mod plan;
