//! Directories that wait for their turn, the last that was found first: so few wait, however many there are.

use super::way::{self, Way};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// From as many on, a directory that is being read waits until those found in it are done.
pub const MANY: usize = if cfg!(test) { 64 } else { 65_536 };
/// More are not kept: what would be is left out, and the survey is not whole.
pub const MOST: usize = 500_000;
/// Directories that wait half read and are kept open; others are opened again where they were left.
const MOST_OPEN: usize = 128;

/// A directory that is to be read, or read on.
#[derive(Debug)]
pub struct Waiting {
    /// Where it lies.
    pub way: Option<Arc<Way>>,
    /// Where it goes on; 0 at its start.
    pub position: i64,
    /// Entries that were counted of it.
    pub entries: u64,
    /// Itself, at that position.
    pub opened: Option<OwnedFd>,
}

impl Waiting {
    /// A directory that nothing was read of.
    pub fn new(way: Option<Arc<Way>>) -> Self {
        Self { way, position: 0, entries: 0, opened: None }
    }
}

/// As [`Waiting`], in a file: another process goes on with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    path: String,
    position: i64,
    entries: u64,
}

/// What waits, for several threads.
#[derive(Debug, Default)]
pub struct Frontier {
    inner: Mutex<Inner>,
    /// There is more to take, or there will not be.
    changed: Condvar,
    /// Nothing is left.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: Vec<Waiting>,
    open: usize,
    at_work: usize,
    is_stopped: bool,
}

impl Frontier {
    /// These wait; the last is the first to be read.
    pub fn new(waiting: Vec<Waiting>) -> Self {
        Self { inner: Mutex::new(Inner { waiting, ..Inner::default() }), ..Self::default() }
    }

    /// The next directory; None once all are done, or after a stop. Who took one reports it `done`.
    pub fn take(&self) -> Option<Waiting> {
        let mut inner = self.inner();
        loop {
            if inner.is_stopped {
                return None;
            }
            if let Some(next) = inner.waiting.pop() {
                inner.at_work += 1;
                inner.open -= usize::from(next.opened.is_some());
                return Some(next);
            }
            if inner.at_work == 0 {
                return None;
            }
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Add a directory that is half read, and on top of it those that were found. How many found no room.
    pub fn put(&self, half: Option<Waiting>, found: &mut Vec<Waiting>) -> usize {
        let mut inner = self.inner();
        if let Some(mut half) = half {
            if inner.open >= MOST_OPEN {
                half.opened = None;
            }
            inner.open += usize::from(half.opened.is_some());
            inner.waiting.push(half);
        }
        let room = MOST.saturating_sub(inner.waiting.len()).min(found.len());
        inner.waiting.extend(found.drain(..room));
        let without_room = found.len();
        found.clear();
        self.changed.notify_all();
        without_room
    }

    /// What was taken is read, or put back.
    pub fn done(&self) {
        let mut inner = self.inner();
        inner.at_work -= 1;
        if inner.at_work == 0 && (inner.is_stopped || inner.waiting.is_empty()) {
            self.changed.notify_all();
            self.ended.notify_all();
        }
    }

    /// Nobody takes another one.
    pub fn stop(&self) {
        self.inner().is_stopped = true;
        self.changed.notify_all();
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.inner().is_stopped
    }

    /// Whether a directory that is being read is to wait for those found in it.
    pub fn is_full(&self) -> bool {
        self.inner().waiting.len() >= MANY
    }

    /// How many wait or are being read.
    pub fn len(&self) -> usize {
        let inner = self.inner();
        inner.waiting.len() + inner.at_work
    }

    /// Whether all are done.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sleep until nothing is left, for a time at most.
    pub fn wait(&self, at_most: Duration) {
        let inner = self.inner();
        if inner.at_work > 0 || !inner.waiting.is_empty() {
            drop(self.ended.wait_timeout(inner, at_most).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// What waits still.
    pub fn into_waiting(self) -> Vec<Waiting> {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner).waiting
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What waits, as it is kept in a file.
pub fn to_left(waiting: &[Waiting]) -> Vec<Left> {
    let left = |one: &Waiting| Left {
        path: way::escaped(&way::path(one.way.as_ref(), c"")),
        position: one.position,
        entries: one.entries,
    };
    waiting.iter().map(left).collect()
}

/// What was kept in a file; None where it is no list of directories below another.
pub fn from_left(left: &[Left]) -> Option<Vec<Waiting>> {
    let waiting = |one: &Left| {
        let way = way::from_escaped(&one.path)?;
        Some(Waiting { way, position: one.position, entries: one.entries, opened: None })
    };
    left.iter().map(waiting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_that_was_found_is_the_first_and_nothing_is_taken_after_a_stop() {
        let frontier = Frontier::new(vec![Waiting::new(None)]);
        assert_eq!(way::depth(frontier.take().unwrap().way.as_ref()), 0);
        let half = Waiting { position: 7, entries: 3, ..Waiting::new(None) };
        frontier.put(Some(half), &mut vec![Waiting::new(Some(Way::below(None, c"a")))]);
        frontier.done();

        assert_eq!(frontier.len(), 2);
        assert_eq!(way::depth(frontier.take().unwrap().way.as_ref()), 1);
        frontier.stop();
        frontier.done();
        assert!(frontier.take().is_none());

        let left = to_left(&frontier.into_waiting());
        assert_eq!(left, [Left { path: ".".into(), position: 7, entries: 3 }]);
        assert_eq!(from_left(&left).unwrap()[0].position, 7);
    }

    #[test]
    fn more_than_the_most_find_no_room() {
        let frontier = Frontier::new((0..MOST - 1).map(|_| Waiting::new(None)).collect());

        assert_eq!(frontier.put(None, &mut vec![Waiting::new(None), Waiting::new(None)]), 1);
        assert!(frontier.is_full());
    }
}
