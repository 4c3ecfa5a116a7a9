//! How many other keys were used since a key was used last: the reuse distance of LRU stacks.
//!
//! Each use takes the next slot of a row; a bit shows whether a slot is the last use of its key. The distance is the
//! number of bits after the key's slot: a Fenwick tree over words of 64 bits, and one population count. When the row is
//! full, slots of earlier uses are taken out, so memory goes with the number of keys and not with that of uses.

/// No slot.
const NONE: u32 = u32::MAX;
/// Slots of the first row.
const FIRST: usize = 1024;

/// The order of last uses, of keys with small numbers.
#[derive(Debug, Default)]
pub struct Recency {
    slot_of: Vec<u32>,
    owner: Vec<u32>,
    live: Vec<u64>,
    tree: Vec<u32>,
    next: usize,
    keys: usize,
}

impl Recency {
    /// Use a key: how many other keys were used since its last use, None if it is new.
    pub fn touch(&mut self, key: u32) -> Option<u64> {
        if key as usize >= self.slot_of.len() {
            self.slot_of.resize(key as usize + 1, NONE);
        }
        let others = match self.slot_of[key as usize] {
            NONE => None,
            slot => {
                let after = self.keys - self.up_to(slot as usize);
                self.clear(slot as usize);
                Some(after as u64)
            }
        };
        self.slot_of[key as usize] = NONE;
        if self.next == self.owner.len() {
            self.renumber();
        }
        let slot = self.next;
        self.next += 1;
        self.owner[slot] = key;
        self.slot_of[key as usize] = slot as u32;
        self.live[slot / 64] |= 1 << (slot % 64);
        self.keys += 1;
        let mut word = slot / 64 + 1;
        while word < self.tree.len() {
            self.tree[word] += 1;
            word += word & word.wrapping_neg();
        }
        others
    }

    /// Forget a key.
    pub fn remove(&mut self, key: u32) {
        if let Some(&slot) = self.slot_of.get(key as usize).filter(|&&slot| slot != NONE) {
            self.clear(slot as usize);
            self.slot_of[key as usize] = NONE;
        }
    }

    /// The keys, from the one used longest ago.
    pub fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.next).filter(|&slot| self.is_live(slot)).map(|slot| self.owner[slot])
    }

    fn is_live(&self, slot: usize) -> bool {
        self.live[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// Last uses up to a slot, with it.
    fn up_to(&self, slot: usize) -> usize {
        let mut sum = (self.live[slot / 64] & (u64::MAX >> (63 - slot % 64))).count_ones();
        let mut word = slot / 64;
        while word > 0 {
            sum += self.tree[word];
            word &= word - 1;
        }
        sum as usize
    }

    fn clear(&mut self, slot: usize) {
        self.live[slot / 64] &= !(1 << (slot % 64));
        self.keys -= 1;
        let mut word = slot / 64 + 1;
        while word < self.tree.len() {
            self.tree[word] -= 1;
            word += word & word.wrapping_neg();
        }
    }

    /// Give the last uses the first slots, and make at least as many free ones.
    fn renumber(&mut self) {
        let keys: Vec<u32> = self.keys().collect();
        let slots = (2 * keys.len()).next_multiple_of(64).max(FIRST).max(if keys.len() * 2 > self.owner.len() {
            self.owner.len() * 2
        } else {
            self.owner.len()
        });
        self.owner.clear();
        self.owner.extend_from_slice(&keys);
        self.owner.resize(slots, 0);
        self.live.clear();
        self.live.resize(slots / 64, 0);
        self.tree.clear();
        self.tree.resize(slots / 64 + 1, 0);
        for (slot, &key) in keys.iter().enumerate() {
            self.slot_of[key as usize] = slot as u32;
            self.live[slot / 64] |= 1 << (slot % 64);
        }
        for word in 1..self.tree.len() {
            self.tree[word] += self.live[word - 1].count_ones();
            let parent = word + (word & word.wrapping_neg());
            if parent < self.tree.len() {
                self.tree[parent] += self.tree[word];
            }
        }
        self.next = keys.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_a_list_that_is_searched() {
        let mut chance = fastrand::Rng::with_seed(1);
        for keys in [1_u32, 3, 70, 900] {
            let (mut recency, mut list) = (Recency::default(), Vec::<u32>::new());
            for _ in 0..4_000 {
                let key = chance.u32(..keys);
                let place = list.iter().rposition(|&one| one == key);
                if chance.u8(..20) == 0 {
                    recency.remove(key);
                    place.map(|at| list.remove(at));
                    continue;
                }
                let wanted = place.map(|at| (list.len() - 1 - at) as u64);
                place.map(|at| list.remove(at));
                list.push(key);

                assert_eq!(recency.touch(key), wanted);
            }
            assert_eq!(recency.keys().collect::<Vec<_>>(), list);
        }
    }
}
