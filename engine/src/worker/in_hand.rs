//! Names that an operation has in hand: from its pick until its call has returned, no other worker makes, removes or is given
//! them (`files/indices.rs`). What none is to be had of for that long is waited for, between operations: the wait is in no
//! latency.

use super::{Flow, Worker};
use crate::backend::Backend;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::files::indices::Lack;
use crate::worker::stats::NEVER;

/// Looks before a worker sleeps: most calls that others wait for take microseconds.
const LOOKS_AWAKE: u32 = 100;
const NAP_NS: u64 = 50_000;

/// The file that an operation works on by its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct InHand {
    pub(super) set: usize,
    pub(super) index: u64,
    pub(super) hold: Hold,
}

/// What the set is to hear when the call has returned.
#[derive(Debug, Clone, Copy)]
pub(super) enum Hold {
    /// Nothing: a slot or a script names the file, or nobody removes any.
    Nothing,
    /// It was used.
    Use,
    /// This index was taken to make a file.
    New(u64),
    /// This one to remove its file.
    Old(u64),
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// What `take` gives, as soon as other workers let go of it.
    #[inline]
    pub(super) fn awaited<A>(&mut self, mut take: impl FnMut(&mut Self) -> Result<A, Lack>) -> Result<A, StoppedBy> {
        let mut looks = 0;
        loop {
            match take(self) {
                Ok(taken) => return Ok(taken),
                Err(Lack::Nothing) => return Err(StoppedBy::Exhausted),
                Err(Lack::InHand) => self.wait_for_others(looks)?,
            }
            looks += 1;
        }
    }

    #[cold]
    fn wait_for_others(&mut self, looks: u32) -> Flow {
        // Waiting for another worker is no stall of this one's storage.
        self.stats.busy_since_ns.set(NEVER);
        if looks < LOOKS_AWAKE {
            std::thread::yield_now();
        } else {
            self.clock.nap_until(self.clock.now_ns() + NAP_NS);
        }
        self.last_ns = self.clock.now_ns();
        self.stats.busy_since_ns.set(self.last_ns);
        self.check()
    }

    /// The call on a name has returned `result`. A name that was to be made and is there counts as existing, one that was to
    /// be removed and is not there as free: the next worker that gets it shall not fail as well.
    #[inline(always)]
    pub(super) fn hand_back(&self, name: InHand, result: i64) {
        if !matches!(name.hold, Hold::Nothing) {
            self.tell_set(name, result);
        }
    }

    #[inline(never)]
    fn tell_set(&self, name: InHand, result: i64) {
        let indices = self.job.sets[name.set].indices();
        match name.hold {
            Hold::Nothing => {}
            Hold::Use => indices.end_use(name.index),
            Hold::New(index) if result >= 0 || result == -i64::from(libc::EEXIST) => indices.made(index),
            Hold::New(index) => indices.not_made(index),
            Hold::Old(index) if result >= 0 || result == -i64::from(libc::ENOENT) => indices.gone(index),
            Hold::Old(index) => indices.not_gone(index),
        }
    }

    /// There was no call.
    #[cold]
    pub(super) fn put_back(&self, name: InHand) {
        self.hand_back(name, -i64::from(libc::ECANCELED));
    }
}
