//! Files that were removed while they were open, which FUSE and NFS keep under another name until they are closed.
//!
//! That is a little later than the close: a FUSE daemon hears of it afterwards, and io_uring gives up its files when it is
//! taken apart in the background.

use std::time::Duration;

const PREFIXES: [&[u8]; 2] = [b".fuse_hidden", b".nfs"];
/// How often one looks again until they are gone.
pub const TRIES: u32 = 100;
/// How far apart these looks are.
pub const WAIT: Duration = Duration::from_millis(10);

/// Whether a name is one that such a file has.
#[must_use]
pub fn is_hidden(name: &[u8]) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
