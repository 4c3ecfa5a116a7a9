//! Keys in an order, with a number each: from the front they leave, and at the back they come in.

use super::super::sampled_keys::ByHash;

/// No place.
const NONE: u32 = u32::MAX;

/// A key in the row.
#[derive(Debug, Clone, Copy)]
struct Link<V> {
    key: u64,
    value: V,
    before: u32,
    after: u32,
}

/// A row of keys: a doubly linked list with a map to its links.
#[derive(Debug)]
pub struct Row<V> {
    links: Vec<Link<V>>,
    place_of: ByHash<u32>,
    free: Vec<u32>,
    front: u32,
    back: u32,
}

impl<V> Default for Row<V> {
    fn default() -> Self {
        Self { links: Vec::new(), place_of: ByHash::default(), free: Vec::new(), front: NONE, back: NONE }
    }
}

impl<V: Copy> Row<V> {
    /// Keys in it.
    pub fn count(&self) -> usize {
        self.place_of.len()
    }

    /// What a key has.
    pub fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        let place = *self.place_of.get(&key)?;
        Some(&mut self.links[place as usize].value)
    }

    /// Put a key that is not in it at the back.
    pub fn push_back(&mut self, key: u64, value: V) {
        let link = Link { key, value, before: self.back, after: NONE };
        let place = match self.free.pop() {
            Some(place) => {
                self.links[place as usize] = link;
                place
            }
            None => {
                self.links.push(link);
                self.links.len() as u32 - 1
            }
        };
        match self.back {
            NONE => self.front = place,
            back => self.links[back as usize].after = place,
        }
        self.back = place;
        self.place_of.insert(key, place);
    }

    /// Take the key at the front out.
    pub fn pop_front(&mut self) -> Option<(u64, V)> {
        let link = *self.links.get(self.front as usize)?;
        self.remove(link.key);
        Some((link.key, link.value))
    }

    /// Take a key out.
    pub fn remove(&mut self, key: u64) -> Option<V> {
        let place = self.place_of.remove(&key)?;
        let Link { value, before, after, .. } = self.links[place as usize];
        match before {
            NONE => self.front = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.back = before,
            after => self.links[after as usize].before = before,
        }
        self.free.push(place);
        Some(value)
    }

    /// Put a key at the back; false if it is not in it.
    pub fn renew(&mut self, key: u64) -> bool {
        match self.remove(key) {
            Some(value) => {
                self.push_back(key, value);
                true
            }
            None => false,
        }
    }
}
