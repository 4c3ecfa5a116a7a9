//! The history of one block in a word: the newest generation issued, the floor, how many writes are in flight, and
//! whether it is unknown which of several generations is on storage.

const GENERATION_BITS: u32 = 27;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;
const FLOOR_SHIFT: u32 = GENERATION_BITS;
const FLIGHT_SHIFT: u32 = 2 * GENERATION_BITS;
const FLIGHT_MASK: u64 = (1 << 9) - 1;
const AMBIGUOUS: u64 = 1 << 63;
/// Issued so far of a block whose history is not known: what is found may be anything up to this.
pub(super) const UNKNOWN: u64 = 1 << (GENERATION_BITS - 1);

pub(super) fn issued(word: u64) -> u64 {
    word & GENERATION_MASK
}

pub(super) fn floor(word: u64) -> u64 {
    word >> FLOOR_SHIFT & GENERATION_MASK
}

pub(super) fn in_flight(word: u64) -> u64 {
    word >> FLIGHT_SHIFT & FLIGHT_MASK
}

pub(super) fn is_ambiguous(word: u64) -> bool {
    word & AMBIGUOUS != 0
}

/// Whether generations have run out, so that later ones are not distinguished any more.
pub(super) fn has_run_out(word: u64) -> bool {
    issued(word) == GENERATION_MASK
}

/// The generation that the next write takes.
pub(super) fn next(word: u64) -> u64 {
    (issued(word) + 1).min(GENERATION_MASK)
}

/// After one more write was issued.
pub(super) fn begun(word: u64) -> u64 {
    let ambiguous = if in_flight(word) > 0 { AMBIGUOUS } else { 0 };
    pack(next(word), floor(word), (in_flight(word) + 1).min(FLIGHT_MASK), ambiguous)
}

/// After one write was over. A count of writes in flight that has overflowed stays where it is: it is not known any more.
pub(super) fn ended(word: u64, succeeded: bool) -> u64 {
    let left = if in_flight(word) == FLIGHT_MASK { FLIGHT_MASK } else { in_flight(word).saturating_sub(1) };
    let ambiguous = if succeeded { word & AMBIGUOUS } else { AMBIGUOUS };
    let is_settled = left == 0 && ambiguous == 0;
    pack(issued(word), if is_settled { issued(word) } else { floor(word) }, left, ambiguous)
}

/// What an earlier run left: what was in flight when it died may or may not be there.
pub(super) fn resumed(word: u64, same_boot: bool) -> u64 {
    let ambiguous = if in_flight(word) > 0 { AMBIGUOUS } else { word & AMBIGUOUS };
    pack(issued(word), if same_boot { floor(word) } else { 0 }, 0, ambiguous)
}

fn pack(issued: u64, floor: u64, in_flight: u64, ambiguous: u64) -> u64 {
    issued | floor << FLOOR_SHIFT | in_flight << FLIGHT_SHIFT | ambiguous
}
