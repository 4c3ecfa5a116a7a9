//! What a backend keeps of each open file, found by its handle without a search.

use super::Handle;

/// A table over handles. The kernel hands out the lowest free descriptor, so it stays short.
#[derive(Debug)]
pub struct ByHandle<T> {
    entries: Vec<Option<T>>,
}

impl<T> Default for ByHandle<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> ByHandle<T> {
    /// Keep a value for an open file.
    pub fn insert(&mut self, file: Handle, value: T) {
        let position = file.0 as usize;
        if position >= self.entries.len() {
            self.entries.resize_with(position + 1, || None);
        }
        self.entries[position] = Some(value);
    }

    /// The value of a file.
    #[inline]
    pub fn get(&self, file: Handle) -> Option<&T> {
        self.entries.get(file.0 as usize)?.as_ref()
    }

    /// The value of a file, to change.
    #[inline]
    pub fn get_mut(&mut self, file: Handle) -> Option<&mut T> {
        self.entries.get_mut(file.0 as usize)?.as_mut()
    }

    /// Take the value of a file out.
    pub fn remove(&mut self, file: Handle) -> Option<T> {
        self.entries.get_mut(file.0 as usize)?.take()
    }

    /// All values, to change.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().flatten()
    }
}
