//! A worker thread's own table of open files.
//!
//! Threads of one process share their table, and the kernel charges for that with every call on a descriptor: it counts
//! the users of the file up and down, and read(2) and write(2) also lock its position. That is some 25 ns of a call,
//! which a program with one thread does not pay. A worker shares no descriptor with the rest of the engine, so it needs
//! none of it.

use std::collections::BTreeSet;
use std::iter;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Give the calling thread a table with nothing in it but the standard streams and `kept`. What it opens from now on is its
/// own, and other descriptors of other threads are not open here; where the kernel has no call for that (before Linux 5.9), it
/// goes on with the common table. Whether it got one.
pub fn begin<'a>(kept: impl Iterator<Item = BorrowedFd<'a>>) -> bool {
    const FIRST: u32 = 3;
    let kept: BTreeSet<u32> = kept.map(|kept| kept.as_raw_fd() as u32).filter(|kept| *kept >= FIRST).collect();
    let begins = iter::once(FIRST).chain(kept.iter().map(|kept| kept + 1));
    let ends = kept.iter().map(|kept| kept - 1).chain([u32::MAX]);
    // SAFETY: no memory is passed, and no descriptor of any other thread is closed: the table is taken apart first.
    let close = |(first, last): (u32, u32)| unsafe {
        libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_UNSHARE) == 0
    };
    // What lies between two that are kept; the first of these calls takes the table apart, the others find their own.
    begins.zip(ends).filter(|(first, last)| first <= last).all(close)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsRawFd;

    fn is_open(fd: i32) -> bool {
        // SAFETY: no memory is passed.
        unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
    }

    #[test]
    fn a_thread_with_its_own_files_leaves_those_of_the_others_open() {
        let mut ours = File::open("/dev/zero").unwrap();
        let fd = ours.as_raw_fd();

        let seen = std::thread::spawn(move || {
            begin(iter::empty()).then(|| (is_open(fd), File::open("/dev/null").unwrap().as_raw_fd()))
        });
        let Some((was_open, its_first)) = seen.join().unwrap() else {
            return eprintln!("skipped: this kernel has no close_range(2)");
        };

        let mut byte = [1];
        ours.read_exact(&mut byte).unwrap();
        assert_eq!((was_open, its_first, byte), (false, 3, [0]));
    }
}
