//! Failures of a worker by operation and error number: written by it alone, read by the observer at any time.

use crate::histogram::Counter;
use crate::sys::exit_status::STATUS as EXIT_STATUS;
use crate::sys::shared::SharedSlice;
use std::io;

/// Error numbers of Linux, and 0.
const NUMBERS: usize = 134;
/// Exit statuses of a program, which come behind them.
const STATUSES: usize = 256;
const EACH: usize = NUMBERS + STATUSES;

/// A number for each operation and error.
#[derive(Debug)]
pub struct Failures(SharedSlice<Counter>);

impl Failures {
    /// None yet.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn new(operations: usize) -> io::Result<Self> {
        SharedSlice::zeroed(operations * EACH).map(Self)
    }

    /// One more of an operation. Numbers that Linux does not have are one.
    #[cold]
    pub fn add(&self, operation: usize, errno: i32) {
        let place = match errno {
            EXIT_STATUS.. => NUMBERS + ((errno - EXIT_STATUS) as usize).min(STATUSES - 1),
            _ => (errno.max(0) as usize).min(NUMBERS - 1),
        };
        self.0[operation * EACH + place].add(1);
    }

    /// Operation, error number and count of all that there are.
    pub fn counts(&self) -> impl Iterator<Item = (usize, i32, u64)> {
        let errno = |place: usize| {
            if place < NUMBERS { place as i32 } else { EXIT_STATUS + (place - NUMBERS) as i32 }
        };
        let counts = self.0.iter().map(Counter::get).enumerate();
        counts.filter(|(_, count)| *count > 0).map(move |(at, count)| (at / EACH, errno(at % EACH), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_operation_and_number() {
        let failures = Failures::new(3).unwrap();
        let added = [(2, libc::EIO), (0, 133), (2, libc::EIO), (2, EXIT_STATUS), (1, EXIT_STATUS + 255), (0, 9999)];
        for (operation, errno) in added {
            failures.add(operation, errno);
        }

        let counts: Vec<_> = failures.counts().collect();

        assert_eq!(counts, [(0, 133, 2), (1, EXIT_STATUS + 255, 1), (2, libc::EIO, 2), (2, EXIT_STATUS, 1)]);
    }
}
