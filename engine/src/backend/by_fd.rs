//! What a backend keeps of each open file, found by its descriptor without a search.

use std::os::fd::RawFd;

/// A table over descriptors. The kernel hands out the lowest free number, so it stays short.
#[derive(Debug)]
pub struct ByFd<T> {
    entries: Vec<Option<T>>,
}

impl<T> Default for ByFd<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> ByFd<T> {
    /// Keep a value for a descriptor.
    pub fn insert(&mut self, fd: RawFd, value: T) {
        let position = fd as usize;
        if position >= self.entries.len() {
            self.entries.resize_with(position + 1, || None);
        }
        self.entries[position] = Some(value);
    }

    /// The value of a descriptor.
    #[inline]
    pub fn get(&self, fd: RawFd) -> Option<&T> {
        self.entries.get(fd as usize)?.as_ref()
    }

    /// The value of a descriptor, to change.
    #[inline]
    pub fn get_mut(&mut self, fd: RawFd) -> Option<&mut T> {
        self.entries.get_mut(fd as usize)?.as_mut()
    }

    /// Take the value of a descriptor out.
    pub fn remove(&mut self, fd: RawFd) -> Option<T> {
        self.entries.get_mut(fd as usize)?.take()
    }

    /// All values, to change.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().flatten()
    }
}
