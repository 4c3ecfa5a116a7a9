//! The entries of a directory, a block at a time, each with the position after it: getdents64(2).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Where fields of `struct linux_dirent64` are.
const POSITION_AT: usize = 8;
const LENGTH_AT: usize = 16;
const TYPE_AT: usize = 18;
const NAME_AT: usize = 19;

/// An entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dent<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// `DT_REG` and others; `DT_UNKNOWN` where the file system does not report it.
    pub kind: u8,
    /// Where the directory goes on after it.
    pub position: i64,
}

/// Fill a buffer with the next entries of an open directory: bytes filled, 0 at the end.
///
/// # Errors
///
/// The directory is gone, or the file system cannot read it.
pub fn read_block(directory: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the buffer is writable for the length that is given, and lives through the call.
        let filled =
            unsafe { libc::syscall(libc::SYS_getdents64, directory.as_raw_fd(), buffer.as_mut_ptr(), buffer.len()) };
        if filled >= 0 {
            return Ok(filled as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Let an open directory go on at a position that an entry of it had.
///
/// # Errors
///
/// The file system has no such position.
pub fn go_on_at(directory: BorrowedFd<'_>, position: i64) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let at = unsafe { libc::lseek(directory.as_fd().as_raw_fd(), position, libc::SEEK_SET) };
    if at < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The entries in a filled buffer, without `.` and `..`.
pub fn dents(mut block: &[u8]) -> impl Iterator<Item = Dent<'_>> {
    std::iter::from_fn(move || {
        loop {
            let length = block.get(LENGTH_AT..LENGTH_AT + 2)?;
            let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
            let (entry, rest) = block.split_at_checked(length)?;
            block = rest;
            let position = i64::from_ne_bytes(entry.get(POSITION_AT..POSITION_AT + 8)?.try_into().ok()?);
            let name = CStr::from_bytes_until_nul(entry.get(NAME_AT..)?).ok()?;
            if name != c"." && name != c".." {
                return Some(Dent { name, kind: entry[TYPE_AT], position });
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs::File;

    fn names(directory: &File, buffer: &mut [u8], most: usize) -> (Vec<String>, i64) {
        let (mut met, mut position) = (Vec::new(), 0);
        while met.len() < most {
            let filled = read_block(directory.as_fd(), buffer).unwrap();
            if filled == 0 {
                break;
            }
            for entry in dents(&buffer[..filled]) {
                met.push(entry.name.to_str().unwrap().to_owned());
                position = entry.position;
            }
        }
        (met, position)
    }

    #[test]
    fn a_directory_that_is_opened_again_goes_on_where_it_was_left() {
        let place = tempfile::tempdir().unwrap();
        let made: BTreeSet<_> = (0..300).map(|number| format!("f{number:08}")).collect();
        for name in &made {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        let mut buffer = [0; 1024];

        let (mut met, position) = names(&File::open(place.path()).unwrap(), &mut buffer, 100);
        assert!((100..200).contains(&met.len()));
        let again = File::open(place.path()).unwrap();
        go_on_at(again.as_fd(), position).unwrap();
        met.extend(names(&again, &mut buffer, usize::MAX).0);

        assert_eq!(met.len(), 300);
        assert_eq!(met.into_iter().collect::<BTreeSet<_>>(), made);
    }
}
