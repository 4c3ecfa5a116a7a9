//! The load engine of Assay.
//!
//! One Plan comes in ([`plan`]), one stream of events goes out ([`events`]). Between them [`run`] walks through the
//! phases and their [`steps`]; [`phase`] starts, watches and stops the workers of one; [`worker`] holds the op loop,
//! [`job`] what it is given and what it leaves behind, [`stats`] what it counts meanwhile.
//! A job becomes a [`program`]: it says what to do, [`draw`] where and how much, [`pace`] when, on which [`files`], with
//! what [`content`]; [`backend`] takes it to storage and [`sys`] asks the kernel for all else. [`observe`] reads what the
//! host says at the same tick as the [`sampler`] reads the workers, and [`histogram`] keeps every latency; [`laps`] keeps
//! single ones where a Plan wants them, and [`idle`] how long a worker rested by the load's own rules.
//! [`prior_state`] looks for what was there before a phase and is in its numbers.
//! Apart from any run, [`echo`] compares the clock of this machine with those of others, [`survey`] counts the files of a tree,
//! and [`workingset`] finds from traces how large a cache has to be.

pub mod among;
pub mod backend;
pub mod buffer;
pub mod check;
pub mod clock;
pub mod closings;
pub mod content;
pub mod control;
pub mod corruption;
pub mod data_sets;
pub mod draw;
pub mod echo;
pub mod emit;
pub mod error;
pub mod events;
#[cfg(test)]
mod exact;
pub mod failures;
pub mod files;
pub mod histogram;
pub mod huge_pages;
pub mod idle;
pub mod job;
pub mod laps;
pub mod memory;
pub mod observe;
pub mod pace;
pub mod phase;
pub mod places;
pub mod plan;
pub mod prior_state;
pub mod process;
pub mod program;
pub mod run;
pub mod sampler;
pub mod spawn;
pub mod stalls;
pub mod stats;
pub mod steps;
pub mod survey;
pub mod sys;
pub mod units;
pub mod warning_id;
pub mod worker;
pub mod workingset;

// Tests of this crate make Plans as those outside of it do (`tests/loads/plans.rs`).
#[cfg(test)]
extern crate self as assay_engine;
