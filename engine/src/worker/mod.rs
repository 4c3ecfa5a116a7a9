//! A worker: what it does between the common start and its stop.
//!
//! A [`source`] says what is to be done, step by step, whether that is a loop or a script; two runners do it, [`serial`] one
//! operation at a time and [`queued`] with several in flight. A worker has parts: the [`gate`] lets operations begin, its
//! [`meter`] times and counts them, and the [`tools`] are what they are carried out with: the backend, the [`files`] of it and
//! the [`filler`] of its buffers. Nothing in them allocates, locks or calls the kernel beyond what the workload asks for and
//! the clock.

mod actions;
mod admission;
mod by_name;
mod data;
mod files;
mod filler;
mod handles;
mod leases;
mod lister;
mod meter;
mod names;
mod ops;
mod parts;
mod pick;
mod queued;
mod run;
mod serial;
mod source;
mod spawn;
mod stamped;
mod tools;
mod walks;

pub use parts::Worker;
