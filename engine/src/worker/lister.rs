//! The files of a set in the order in which its directories list them, one at a time. A directory stays open while its
//! entries are gone through, so they may be removed meanwhile.

use crate::backend::listing;
use crate::backend::store::{Handle, Store};
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;

/// As much as readdir(3) asks for at once.
const BUFFER_BYTES: usize = 32 << 10;

/// Goes through the directories that it is given.
#[derive(Debug)]
pub(super) struct Lister {
    directory: Option<Handle>,
    entries: Vec<u8>,
    /// What of `entries` is still to come.
    at: usize,
    filled: usize,
}

impl Lister {
    pub(super) fn new() -> Self {
        Self { directory: None, entries: vec![0; BUFFER_BYTES], at: 0, filled: 0 }
    }

    /// The next file; None when `next_directory` has no more. An error is a negative errno.
    pub(super) fn next(
        &mut self,
        store: &mut impl Store,
        set: &FileSetState,
        path: &mut PathBuffer,
        mut next_directory: impl FnMut() -> u64,
    ) -> Result<Option<u64>, i64> {
        let level = set.spread().depth();
        loop {
            let mut names = listing::names_in(&self.entries[self.at..self.filled]);
            let found = names.by_ref().find_map(|name| set.file_names().number_in(name));
            self.at = self.filled - names.left_bytes();
            if found.is_some() {
                return Ok(found);
            }
            match self.directory {
                Some(directory) => match store.entries(directory, &mut self.entries) {
                    0 => self.close(store),
                    filled if filled < 0 => return Err(filled),
                    filled => (self.at, self.filled) = (0, filled as usize),
                },
                None => {
                    let number = next_directory();
                    if number >= set.spread().directories_at(level) {
                        return Ok(None);
                    }
                    set.directory_path_into(level, number, path);
                    self.directory = Some(store.open_directory(path.at())?);
                }
            }
        }
    }

    /// Leave the directory that is open.
    pub(super) fn close(&mut self, store: &mut impl Store) {
        if let Some(directory) = self.directory.take() {
            store.close(directory);
        }
    }
}
