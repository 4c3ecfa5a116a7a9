//! Files that could not be closed without an error.
//!
//! On NFS, FUSE and others, close(2) is where a write that memory took reports that storage refused it (EDQUOT, ENOSPC,
//! EIO). No operation has that error where the load closes no files itself: a file is closed when another takes its place,
//! and at the end, when nothing is timed any more.

use crate::sys::shared::shareable;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicU64};

shareable! {
    /// Of all workers of a job, processes too.
    #[derive(Debug, Default)]
    pub struct Closings {
        failed: AtomicU64,
        errno: AtomicI32,
    }
}

impl Closings {
    /// Count what a close returned: 0 or a negative error number.
    #[inline]
    pub fn count(&self, result: i64) {
        if result < 0 {
            self.failed.fetch_add(1, Relaxed);
            self.errno.store(i32::try_from(-result).unwrap_or(libc::EIO), Relaxed);
        }
    }

    /// How many failed, in words, with the latest error; None where none did.
    pub fn in_words(&self) -> Option<String> {
        let (failed, errno) = (self.failed.load(Relaxed), self.errno.load(Relaxed));
        let why = std::io::Error::from_raw_os_error(errno);
        (failed > 0).then(|| {
            let times = if failed == 1 { "once".to_owned() } else { format!("{failed} times") };
            format!("close of a file failed {times} ({why}): what was written to it may not be in storage")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_with_the_latest_error() {
        let closings = Closings::default();
        closings.count(0);
        assert_eq!(closings.in_words(), None);

        closings.count(-i64::from(libc::EIO));
        assert!(
            closings.in_words().is_some_and(|words| words.starts_with("close of a file failed once (Input/output"))
        );

        closings.count(-i64::from(libc::EDQUOT));
        assert!(
            closings.in_words().is_some_and(|words| words.starts_with("close of a file failed 2 times (Disk quota"))
        );
    }
}
