//! The load engine of Assay.
//!
//! One Plan comes in ([`plan`]), one stream of events goes out ([`events`]). Between them [`run`] walks through the
//! phases and their [`steps`]; [`phase`] starts, watches and stops the workers of one; [`worker`] holds the op loop;
//! [`load`] says what each operation is, [`backend`] takes it to the kernel, [`observe`] reads what the host says at the
//! same tick as the [`sampler`] reads the workers, and [`histogram`] keeps every latency;
//! [`laps`] keeps single ones where a Plan wants them.

pub mod affinity;
pub mod backend;
pub mod buffer;
pub mod ceilings;
pub mod check;
pub mod clock;
pub mod control;
pub mod corruption;
pub mod cpu_cache;
pub mod emit;
pub mod error;
pub mod events;
pub mod facts;
pub mod histogram;
pub mod laps;
pub mod load;
pub mod observe;
pub mod own_directory;
pub mod own_files;
pub mod phase;
pub mod plan;
pub mod process;
pub mod run;
pub mod sampler;
pub mod shared;
pub mod spawn;
pub mod stalls;
pub mod steps;
pub mod worker;
