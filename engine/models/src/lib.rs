//! Structures that the engine's workers share without a lock, compiled from the engine's own text with the atomics of loom.
//!
//! loom runs a model in every order of its threads' steps, and with every value that the C11 memory model lets a load see:
//! what `tests/` assert holds in all of them. `make prove STEPS=models` runs it. What the texts take from the engine
//! is here by the same path: the engine's own, or a twin where loom must see what happens.

pub mod sys {
    //! Atomics, shared memory and waiting.

    pub mod atomic {
        //! Those of loom.

        pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    }

    pub mod futex;
    pub mod shared;
}

pub mod histogram {
    //! The counter of one writer.

    use crate::sys::atomic::{AtomicU64, Ordering::Relaxed};
    use crate::sys::shared::shareable;

    shareable! {
        /// A number that one thread writes and others read.
        #[derive(Debug)]
        pub struct Counter {
            value: AtomicU64,
        }
    }

    impl Counter {
        /// Set; only the owning thread may.
        pub fn set(&self, n: u64) {
            self.value.store(n, Relaxed);
        }

        /// Value now.
        pub fn get(&self) -> u64 {
            self.value.load(Relaxed)
        }
    }
}

pub use assay_engine::{error, plan};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Run a model in every order of its threads' steps, and print how many these are; with `interruptions`, in those in which
/// threads that could go on are interrupted at most that often.
pub fn in_every_order(interruptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let orders = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&orders);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = interruptions;
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{} orders", orders.load(Ordering::Relaxed));
}

#[path = "../../src/pace/coordination.rs"]
pub mod coordination;
#[path = "../../src/idle.rs"]
pub mod idle;
#[path = "../../src/files/index_queue.rs"]
pub mod index_queue;
#[path = "../../src/laps.rs"]
pub mod laps;
