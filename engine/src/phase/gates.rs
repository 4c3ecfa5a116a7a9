//! What the workers of a phase wait at: the start, and after their end the release.

use crate::error::{EngineError, Result};
use crate::sys::futex;
use crate::sys::shared::{SharedBox, shareable};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Value of the start gate that sends the workers home.
const GO_HOME: u64 = u64::MAX;

/// What workers wait at.
#[derive(Clone)]
pub(super) struct Gates {
    /// Opened with the time of the start.
    start: Barrier,
    /// Opened before `start` where other engines were given the same time.
    agreed: Barrier,
    /// Opened when the last sample of their counters and clocks was taken.
    release: Barrier,
}

impl Gates {
    /// Closed ones.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn closed() -> Result<Self> {
        let gate = || Barrier::closed().map_err(EngineError::no_shared_memory);
        Ok(Self { start: gate()?, agreed: gate()?, release: gate()? })
    }

    /// Time of the start; None: there is none.
    pub fn wait_for_start(&self) -> Option<u64> {
        Some(self.start.wait()).filter(|&start_ns| start_ns != GO_HOME)
    }

    /// Whether the time of the start, which has come, was agreed with others.
    pub fn is_agreed(&self) -> bool {
        self.agreed.is_open()
    }

    /// Wait until nobody looks at this worker's clocks any more.
    pub fn wait_for_release(&self) {
        self.release.wait();
    }

    /// Report that others begin at the same time. Before the start.
    pub fn agree(&self) {
        self.agreed.open(0);
    }

    /// Let all begin at `start_ns`.
    pub fn start(&self, start_ns: u64) {
        self.start.open(start_ns);
    }

    /// Let go of all, wherever they wait.
    pub fn send_home(&self) {
        self.start.open(GO_HOME);
        self.release.open(0);
    }
}

/// A door that opens once, with a value for everybody who waits, in whatever process.
#[derive(Debug, Clone)]
struct Barrier(Arc<SharedBox<Door>>);

shareable! {
    #[derive(Debug)]
    struct Door {
        is_open: AtomicU32,
        value: AtomicU64,
    }
}

impl Barrier {
    /// A closed door.
    fn closed() -> io::Result<Self> {
        Ok(Self(Arc::new(SharedBox::zeroed()?)))
    }

    /// Let everybody through with `value`; the first call counts. Only the engine's main thread opens.
    fn open(&self, value: u64) {
        if self.0.is_open.load(Ordering::Relaxed) == 0 {
            self.0.value.store(value, Ordering::Relaxed);
            self.0.is_open.store(1, Ordering::Release);
        }
        futex::wake_all(&self.0.is_open);
    }

    fn is_open(&self) -> bool {
        self.0.is_open.load(Ordering::Acquire) != 0
    }

    /// Wait for the value.
    fn wait(&self) -> u64 {
        while !self.is_open() {
            futex::wait(&self.0.is_open, 0, None);
        }
        self.0.value.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_lets_those_who_wait_and_those_who_come_later_through_with_the_first_value() {
        let gate = Barrier::closed().unwrap();
        let waiting = std::thread::spawn({
            let gate = gate.clone();
            move || gate.wait()
        });

        gate.open(7);
        gate.open(8);

        assert_eq!((waiting.join().unwrap(), gate.wait()), (7, 7));
    }

    #[test]
    fn who_is_let_go_is_told_whether_others_go_with_him() {
        for is_agreed in [false, true] {
            let gates = Gates::closed().unwrap();
            let waiting = std::thread::spawn({
                let gates = gates.clone();
                move || (gates.wait_for_start(), gates.is_agreed())
            });

            if is_agreed {
                gates.agree();
            }
            gates.start(7);

            assert_eq!(waiting.join().unwrap(), (Some(7), is_agreed));
        }
    }
}
