//! How a worker waits for its next arrival, and what it counts of arrivals.

use super::{Flow, Worker};
use crate::backend::Backend;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::pace::pacing::UNSCHEDULED;
use crate::worker::stats::NEVER;

/// Longest sleep without a look at the stop flag.
pub(super) const LONGEST_NAP_NS: u64 = 100_000_000;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// Wait until the next operation is due, and begin it. Its intended time is in `self.intended_ns`.
    #[inline]
    pub(super) fn arrive(&mut self) -> Flow {
        if self.pacer.is_free() {
            return Ok(());
        }
        self.wait_until_due()?;
        self.take_arrival();
        Ok(())
    }

    /// Whether the next operation is due, by the time of the latest look at the clock.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.pacer.due_ns() <= self.last_ns
    }

    /// Sleep until the next operation is due; an end of time or a stop comes through.
    pub(super) fn wait_until_due(&mut self) -> Flow {
        let due_ns = self.pacer.due_ns();
        if due_ns <= self.last_ns {
            return Ok(());
        }
        self.stats.busy_since_ns.set(NEVER);
        while self.last_ns < due_ns {
            self.clock.nap_until(self.nap_end_ns());
            self.last_ns = self.clock.now_ns();
            self.check()?;
        }
        self.stats.busy_since_ns.set(self.last_ns);
        Ok(())
    }

    /// Until when to sleep at most.
    pub(super) fn nap_end_ns(&self) -> u64 {
        self.pacer.due_ns().min(self.limits.deadline_ns()).min(self.last_ns + LONGEST_NAP_NS)
    }

    /// Begin the operation that is due.
    #[inline]
    pub(super) fn take_arrival(&mut self) {
        if self.pacer.is_free() {
            return;
        }
        self.intended_ns = self.pacer.take(self.last_ns);
        if self.intended_ns != UNSCHEDULED {
            self.stats.arrivals.add(1);
            if self.pacer.is_missed(self.intended_ns, self.last_ns) {
                self.stats.missed.add(1);
            }
        }
    }

    /// Count the arrivals that were due before the end and had no turn. A worker that did all it was asked for left none.
    pub(super) fn count_unissued(&mut self, stopped_by: StoppedBy) {
        let was_cut_off =
            matches!(stopped_by, StoppedBy::Time | StoppedBy::Control | StoppedBy::Stonewall | StoppedBy::Error);
        if was_cut_off {
            let end_ns = self.clock.now_ns().min(self.limits.deadline_ns());
            self.stats.unissued.add(self.pacer.drain(end_ns));
        }
    }
}
