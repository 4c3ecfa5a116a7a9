//! Directory entries in a buffer, as getdents64(2) lays them: how stores hand them out.

use std::ffi::CStr;
#[cfg(test)]
use std::ffi::CString;

/// Where fields of `struct linux_dirent64` are (getdents(2)).
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;

/// The names in a filled buffer, without `.` and `..`.
pub fn names_in(entries: &[u8]) -> Names<'_> {
    Names { entries }
}

/// Take as many of `names` as there is room for into a buffer: how a store other than the kernel fills it. Bytes filled.
#[cfg(test)]
pub(super) fn put(names: &mut Vec<CString>, buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    while let Some(name) = names.last() {
        let bytes = name.to_bytes_with_nul();
        let length = (NAME_AT + bytes.len()).next_multiple_of(8);
        let Some(entry) = buffer.get_mut(filled..filled + length) else { break };
        entry[LENGTH_AT..LENGTH_AT + 2].copy_from_slice(&(length as u16).to_ne_bytes());
        entry[NAME_AT..NAME_AT + bytes.len()].copy_from_slice(bytes);
        filled += length;
        names.pop();
    }
    filled
}

/// What [`names_in`] goes through.
#[derive(Debug)]
pub struct Names<'a> {
    entries: &'a [u8],
}

impl Names<'_> {
    /// Bytes of the buffer that are still to come.
    pub fn left_bytes(&self) -> usize {
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
    use crate::backend::kernel::Kernel;
    use crate::backend::store::{At, Handle, Store};
    use std::collections::BTreeSet;
    use std::ffi::CString;
    use std::fs::File;
    use std::os::fd::AsFd;

    fn here<'a>(folder: &File, path: &'a CStr) -> At<'a> {
        At { folder: Handle::of_directory(folder.as_fd()), path }
    }

    #[test]
    fn every_name_of_a_directory_is_met_once_in_a_buffer_that_holds_a_few() {
        let place = tempfile::tempdir().unwrap();
        let made: BTreeSet<_> = (0..300).map(|number| CString::new(format!("f{number:08}")).unwrap()).collect();
        for name in &made {
            std::fs::write(place.path().join(name.to_str().unwrap()), "").unwrap();
        }
        let folder = File::open(place.path()).unwrap();
        let directory = Kernel.open_directory(here(&folder, c".")).unwrap();
        let mut buffer = [0; 1024];

        let mut met = Vec::new();
        loop {
            let filled = Kernel.entries(directory, &mut buffer);
            assert!(filled >= 0);
            if filled == 0 {
                break;
            }
            met.extend(names_in(&buffer[..filled as usize]).map(CStr::to_owned));
        }

        Kernel.close(directory);
        assert_eq!(met.len(), 300);
        assert_eq!(met.into_iter().collect::<BTreeSet<_>>(), made);
    }

    #[test]
    fn a_directory_that_is_not_there_says_so() {
        let root = File::open("/").unwrap();
        let missing = here(&root, c"no/such/directory");
        assert_eq!(Kernel.readdir(missing, &mut [0; 1024], true, || {}), -i64::from(libc::ENOENT));
    }
}
