//! A queue of indices in shared memory: many workers take at one end and give at the other, without a lock.
//!
//! Places are numbered upwards without end; a place's slot is its number modulo the room. Whoever gives gets a place by one
//! addition and then writes its slot; whoever takes reads the first slot and then moves the beginning past it, which
//! succeeds for one of them. A slot says for which turn of the ring it was written, so one that is not written yet is known
//! from one that is. There must be room for all that is given: nothing is overwritten that was not taken.
//!
//! The first places hold their own numbers, and so do those after them for as long as each is given its own number: no slot
//! is written or read for these, so they take no memory. One worker that makes and removes files gives nothing else.

use crate::sys::atomic::{AtomicU64, Ordering};
use crate::sys::shared::{SharedBox, SharedSlice, shareable};
use std::io;
use std::ops::Range;

/// Bits of a slot that hold the index; the others hold the turn.
const INDEX_BITS: u32 = 48;
const TURNS: u64 = (1 << (u64::BITS - INDEX_BITS)) - 1;

/// The queue.
#[derive(Debug)]
pub struct IndexQueue {
    ends: SharedBox<Ends>,
    slots: SharedSlice<AtomicU64>,
}

shareable! {
    /// Places `[first, end)` are in the queue, those below `plain_until` hold their own number.
    #[derive(Debug)]
    struct Ends {
        first: AtomicU64,
        end: AtomicU64,
        plain_until: AtomicU64,
    }
}

impl IndexQueue {
    /// An empty one, with room for `most` numbers.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn with_room_for(most: u64) -> io::Result<Self> {
        let slots = usize::try_from(most).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(Self { ends: SharedBox::zeroed()?, slots: SharedSlice::zeroed(slots)? })
    }

    /// From now on it holds these numbers, at the places of the same numbers. Only while nobody else uses it.
    pub fn begin_with(&self, numbers: Range<u64>) {
        self.slots.clear();
        self.ends.plain_until.store(numbers.end, Ordering::Release);
        self.ends.first.store(numbers.start, Ordering::Release);
        self.ends.end.store(numbers.end, Ordering::Release);
    }

    /// Places in the queue.
    #[inline]
    pub fn places(&self) -> Range<u64> {
        // `first` first: it never passes `end`, so a later `end` keeps the range the right way round.
        let first = self.ends.first.load(Ordering::Acquire);
        first..self.ends.end.load(Ordering::Acquire)
    }

    /// How many it holds at the least: there were as many at some moment of the call.
    #[inline]
    pub fn holds(&self) -> u64 {
        let end = self.ends.end.load(Ordering::SeqCst);
        end.saturating_sub(self.ends.first.load(Ordering::SeqCst))
    }

    /// Whether what was at a place is still in the queue.
    #[inline]
    pub fn has(&self, place: u64) -> bool {
        self.ends.first.load(Ordering::SeqCst) <= place
    }

    /// What was given at a place, also when it was taken since; `None` when it is not written yet, or not any more.
    #[inline]
    pub fn at(&self, place: u64) -> Option<u64> {
        if place < self.ends.plain_until.load(Ordering::Acquire) {
            return Some(place);
        }
        let (slot, turn) = self.slot_of(place);
        let written = slot.load(Ordering::Acquire);
        (written >> INDEX_BITS == turn).then_some(written & ((1 << INDEX_BITS) - 1))
    }

    /// Take the first; `None` when there is none, or it is not written yet.
    #[inline]
    pub fn take(&self) -> Option<u64> {
        let Ends { first, end, .. } = &*self.ends;
        let mut place = first.load(Ordering::Acquire);
        while place < end.load(Ordering::Acquire) {
            // A slot is written anew only after its place was taken: then the exchange fails.
            let index = self.at(place);
            let now = match index {
                Some(_) => first.compare_exchange_weak(place, place + 1, Ordering::SeqCst, Ordering::Acquire),
                None => Err(first.load(Ordering::Acquire)),
            };
            match now {
                Ok(_) => return index,
                Err(now) if now == place && index.is_none() => return None,
                Err(now) => place = now,
            }
        }
        None
    }

    /// Give one to the end.
    #[inline]
    pub fn give(&self, index: u64) {
        let Ends { end, plain_until, .. } = &*self.ends;
        let place = end.fetch_add(1, Ordering::AcqRel);
        if index == place && plain_until.load(Ordering::Acquire) == place {
            // Nobody else moves it from here: this place is given once.
            plain_until.store(place + 1, Ordering::Release);
            return;
        }
        let (slot, turn) = self.slot_of(place);
        slot.store(turn << INDEX_BITS | index, Ordering::Release);
    }

    /// Slot of a place, and what it says of its turn: never zero, which is a slot that nobody wrote to.
    #[inline]
    fn slot_of(&self, place: u64) -> (&AtomicU64, u64) {
        let room = self.slots.len() as u64;
        (&self.slots[(place % room) as usize], place / room % TURNS + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_come_out_in_the_order_in_which_they_went_in() {
        let queue = IndexQueue::with_room_for(3).unwrap();
        queue.begin_with(0..2);

        let out: Vec<_> = (0..200_000)
            .map(|turn| {
                queue.give(7 * turn);
                queue.take().unwrap()
            })
            .collect();

        // More turns than the slots distinguish.
        assert_eq!(out[..4], [0, 1, 0, 7]);
        assert!((2..200_000).all(|turn| out[turn] == 7 * (turn as u64 - 2)));
        assert_eq!((queue.take(), queue.take(), queue.take()), (Some(7 * 199_998), Some(7 * 199_999), None));
    }

    #[test]
    fn numbers_at_their_own_places_are_not_written_down() {
        let queue = IndexQueue::with_room_for(10).unwrap();
        queue.begin_with(0..5);

        (5..25).for_each(|index| {
            queue.give(index);
            assert_eq!(queue.take(), Some(index - 5));
        });

        assert_eq!(queue.places(), 20..25);
        assert!(queue.slots.iter().all(|slot| slot.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn what_was_there_before_a_new_beginning_is_forgotten() {
        let queue = IndexQueue::with_room_for(4).unwrap();
        queue.begin_with(0..2);
        [9, 8].into_iter().for_each(|index| queue.give(index));

        queue.begin_with(1..2);

        assert_eq!((queue.at(2), queue.at(3)), (None, None));
        assert_eq!((queue.take(), queue.take()), (Some(1), None));
    }

    #[test]
    fn a_place_is_known_until_it_is_written_anew() {
        let queue = IndexQueue::with_room_for(2).unwrap();
        [40, 50].into_iter().for_each(|index| queue.give(index));

        assert_eq!((queue.take(), queue.at(0), queue.has(0)), (Some(40), Some(40), false));
        queue.give(60);
        assert_eq!((queue.at(0), queue.at(1), queue.at(2), queue.has(1)), (None, Some(50), Some(60), true));
    }
}
