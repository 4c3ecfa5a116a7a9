//! Listing a directory: open, read to the end, close, as one operation; with `readdir_stat` every entry is looked at too,
//! as `ls -l` does.
//!
//! getdents64(2) into the worker's own memory, because readdir(3) allocates for every directory that it opens.

use crate::sys::calls;
use std::ffi::CStr;

/// Where fields of `struct linux_dirent64` are (getdents(2)).
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;

/// List a directory by path. 0, or the first error as a negative number; an entry that vanished before it was looked at
/// is none. `go_on` is called between the buffers: a large directory takes many, and no stall of the storage is in them.
pub fn list(path: &CStr, buffer: &mut [u8], with_attributes: bool, go_on: impl Fn()) -> i64 {
    let directory = calls::open(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC, 0);
    if directory < 0 {
        return directory;
    }
    let directory = directory as i32;
    let result = read_all(directory, buffer, with_attributes, go_on);
    let closed = calls::close(directory);
    if result < 0 { result } else { closed }
}

fn read_all(directory: i32, buffer: &mut [u8], with_attributes: bool, go_on: impl Fn()) -> i64 {
    loop {
        let filled = calls::list(directory, buffer);
        if filled <= 0 {
            return filled;
        }
        if with_attributes {
            for name in names_in(&buffer[..filled as usize]) {
                let result = calls::stat_at(directory, name);
                if result < 0 && result != -i64::from(libc::ENOENT) {
                    return result;
                }
            }
        }
        go_on();
    }
}

/// The names in a filled buffer, without `.` and `..`.
pub(super) fn names_in(entries: &[u8]) -> Names<'_> {
    Names { entries }
}

pub(super) struct Names<'a> {
    entries: &'a [u8],
}

impl Names<'_> {
    /// Bytes of the buffer that are still to come.
    pub(super) fn left_bytes(&self) -> usize {
        self.entries.len()
    }
}

impl<'a> Iterator for Names<'a> {
    type Item = &'a CStr;

    fn next(&mut self) -> Option<&'a CStr> {
        loop {
            let length = self.entries.get(LENGTH_AT..LENGTH_AT + 2)?;
            let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
            let (entry, rest) = self.entries.split_at_checked(length)?;
            self.entries = rest;
            let name = CStr::from_bytes_until_nul(entry.get(NAME_AT..)?).ok()?;
            if name != c"." && name != c".." {
                return Some(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::ffi::CString;
    use std::os::fd::AsRawFd;

    #[test]
    fn every_name_of_a_directory_is_met_once_in_a_buffer_that_holds_a_few() {
        let place = tempfile::tempdir().unwrap();
        let made: BTreeSet<_> = (0..300).map(|number| CString::new(format!("f{number:08}")).unwrap()).collect();
        for name in &made {
            std::fs::write(place.path().join(name.to_str().unwrap()), "").unwrap();
        }
        let directory = std::fs::File::open(place.path()).unwrap();
        let mut buffer = [0; 1024];

        let mut met = Vec::new();
        loop {
            let filled = calls::list(directory.as_raw_fd(), &mut buffer);
            assert!(filled >= 0);
            if filled == 0 {
                break;
            }
            met.extend(names_in(&buffer[..filled as usize]).map(CStr::to_owned));
        }

        assert_eq!(met.len(), 300);
        assert_eq!(met.into_iter().collect::<BTreeSet<_>>(), made);
    }

    #[test]
    fn a_directory_that_is_not_there_says_so() {
        assert_eq!(list(c"/no/such/directory", &mut [0; 1024], true, || {}), -i64::from(libc::ENOENT));
    }
}
