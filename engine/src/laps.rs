//! Laps: each completion of a group that asks for it, by itself, on its way from the worker to the event stream.
//!
//! One worker writes, the sampler reads at its next tick; neither waits for the other. A lap for which there is no room is not
//! kept, and its number is missing from the stream: with [`ROOM`] laps from one tick to the next that takes a group that
//! completes within some microseconds.

use crate::histogram::Counter;
use crate::sys::atomic::{AtomicU64, Ordering};
use crate::sys::shared::{SharedBox, SharedSlice, shareable};
use std::io;

/// Laps that are kept until the sampler comes by.
pub const ROOM: usize = 1 << 16;
/// Stands for the latency of a lap in which an operation failed.
const FAILED: u64 = u64::MAX;

/// One completion of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lap {
    /// Which of the job's groups with laps.
    pub group: usize,
    /// How many completions of that group this worker had before.
    pub number: u64,
    /// When.
    pub end_ns: u64,
    /// Sum of the members' latencies; `None` when one of them failed.
    pub latency_ns: Option<u64>,
}

/// The laps of one worker that have not been reported yet.
#[derive(Debug)]
pub struct Laps {
    ends: SharedBox<Ends>,
    cells: SharedSlice<Cell>,
}

shareable! {
    #[derive(Debug)]
    struct Ends {
        /// Laps kept since the phase began.
        kept: AtomicU64,
        /// Of these, reported.
        reported: AtomicU64,
    }

    #[derive(Debug)]
    struct Cell {
        group: Counter,
        number: Counter,
        end_ns: Counter,
        latency_ns: Counter,
    }
}

impl Laps {
    /// None yet. Room that is not used costs no memory.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn with_room_for(laps: usize) -> io::Result<Self> {
        Ok(Self { ends: SharedBox::zeroed()?, cells: SharedSlice::zeroed(laps)? })
    }

    /// Keep a lap, if there is room; only the worker may.
    pub fn keep(&self, lap: Lap) {
        let kept = self.ends.kept.load(Ordering::Relaxed);
        let room = self.cells.len() as u64;
        if kept - self.ends.reported.load(Ordering::Acquire) >= room {
            return;
        }
        let cell = &self.cells[(kept % room) as usize];
        cell.group.set(lap.group as u64);
        cell.number.set(lap.number);
        cell.end_ns.set(lap.end_ns);
        cell.latency_ns.set(lap.latency_ns.unwrap_or(FAILED));
        self.ends.kept.store(kept + 1, Ordering::Release);
    }

    /// Hand the laps over that are new, in order; only the sampler may.
    pub fn take(&self) -> Vec<Lap> {
        let Ends { kept, reported } = &*self.ends;
        let (before, kept) = (reported.load(Ordering::Relaxed), kept.load(Ordering::Acquire));
        let lap = |at: u64| {
            let cell = &self.cells[(at % self.cells.len() as u64) as usize];
            let latency_ns = cell.latency_ns.get();
            Lap {
                group: cell.group.get() as usize,
                number: cell.number.get(),
                end_ns: cell.end_ns.get(),
                latency_ns: (latency_ns != FAILED).then_some(latency_ns),
            }
        };
        let laps = (before..kept).map(lap).collect();
        reported.store(kept, Ordering::Release);
        laps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: u64 = super::ROOM as u64;

    fn laps() -> Laps {
        Laps::with_room_for(super::ROOM).unwrap()
    }

    fn lap(number: u64) -> Lap {
        Lap { group: 1, number, end_ns: 10 * number, latency_ns: (number % 2 == 0).then_some(number) }
    }

    #[test]
    fn laps_are_taken_once_and_in_order() {
        let laps = laps();

        (0..3).for_each(|number| laps.keep(lap(number)));
        let first = laps.take();
        laps.keep(lap(3));

        assert_eq!(first, [lap(0), lap(1), lap(2)]);
        assert_eq!(laps.take(), [lap(3)]);
        assert_eq!(laps.take(), []);
    }

    #[test]
    fn a_lap_without_room_is_missing_and_no_other_is_overwritten() {
        let laps = laps();

        (0..ROOM + 2).for_each(|number| laps.keep(lap(number)));
        let first = laps.take();
        laps.keep(lap(ROOM + 2));

        assert_eq!((first.len() as u64, first[0], first[first.len() - 1]), (ROOM, lap(0), lap(ROOM - 1)));
        assert_eq!(laps.take(), [lap(ROOM + 2)]);
    }

    #[test]
    fn nothing_is_lost_or_torn_while_the_worker_goes_on() {
        let laps = laps();
        let all = 3 * ROOM;

        let taken = std::thread::scope(|scope| {
            let worker = scope.spawn(|| (0..all).for_each(|number| laps.keep(lap(number))));
            let mut taken = Vec::new();
            while !worker.is_finished() {
                taken.extend(laps.take());
            }
            taken.extend(laps.take());
            taken
        });

        assert!(taken.iter().all(|&taken| taken == lap(taken.number)));
        assert!(taken.windows(2).all(|pair| pair[0].number < pair[1].number));
    }
}
