//! Where a directory of the tree lies: names from the surveyed directory on, shared with all that lie below.

use crate::sys::posix;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Deeper directories are left out: ten thousand levels are nobody's data.
pub const MOST_LEVELS: usize = 4096;
/// Bytes of a path in one call; the kernel takes 4095.
const MOST_PATH_BYTES: usize = 4000;

/// A directory below the surveyed one, which itself is None.
#[derive(Debug)]
pub struct Way {
    above: Option<Arc<Way>>,
    name: Box<CStr>,
    depth: usize,
}

impl Way {
    /// A directory in another.
    pub fn below(above: Option<&Arc<Self>>, name: &CStr) -> Arc<Self> {
        Arc::new(Self { above: above.cloned(), name: name.into(), depth: depth(above) + 1 })
    }

    /// From the surveyed directory down.
    fn names(&self) -> Vec<&CStr> {
        let mut names = vec![&*self.name];
        let mut here = &self.above;
        while let Some(way) = here {
            names.push(&way.name);
            here = &way.above;
        }
        names.reverse();
        names
    }
}

/// Levels below the surveyed directory.
pub fn depth(way: Option<&Arc<Way>>) -> usize {
    way.map_or(0, |way| way.depth)
}

/// The path of what lies in a directory, in bytes; `.` for the surveyed directory itself.
pub fn path(way: Option<&Arc<Way>>, name: &CStr) -> Vec<u8> {
    let mut names = way.map_or_else(Vec::new, |way| way.names());
    if !name.is_empty() {
        names.push(name);
    }
    if names.is_empty() {
        return b".".to_vec();
    }
    names.iter().map(|name| name.to_bytes()).collect::<Vec<_>>().join(&b'/')
}

/// The path of what lies in a directory, for people.
pub fn shown(way: Option<&Arc<Way>>, name: &CStr) -> String {
    String::from_utf8_lossy(&path(way, name)).into_owned()
}

/// Open a directory below an open one. No link is followed on the way, and no mount is crossed unless that is wanted.
///
/// # Errors
///
/// It is not there, it or what leads to it is no directory, or it may not be read.
pub fn open(root: BorrowedFd<'_>, way: Option<&Arc<Way>>, crosses: bool) -> io::Result<OwnedFd> {
    let names = way.map_or_else(Vec::new, |way| way.names());
    let mut here: Option<OwnedFd> = None;
    let mut piece = Vec::new();
    for name in names {
        if !piece.is_empty() && piece.len() + name.count_bytes() + 1 > MOST_PATH_BYTES {
            here = Some(open_piece(here.as_ref().map_or(root, AsFd::as_fd), &piece, crosses)?);
            piece.clear();
        }
        if !piece.is_empty() {
            piece.push(b'/');
        }
        piece.extend(name.to_bytes());
    }
    if piece.is_empty() {
        piece.push(b'.');
    }
    open_piece(here.as_ref().map_or(root, AsFd::as_fd), &piece, crosses)
}

/// The time of the last access stays as it was where this user may ask for that.
fn open_piece(here: BorrowedFd<'_>, piece: &[u8], crosses: bool) -> io::Result<OwnedFd> {
    let piece = CString::new(piece).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOCTTY;
    let open = if crosses { posix::open_beneath } else { posix::open_on_mount };
    match open(here, &piece, flags | libc::O_NOATIME, 0) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => open(here, &piece, flags, 0),
        opened => opened,
    }
}

/// A path as text that leads back to the same bytes: what is not printable ASCII, and `%`, as `%` and two digits.
pub fn escaped(path: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(path.len());
    for &byte in path {
        if byte.is_ascii_graphic() && byte != b'%' || byte == b' ' {
            text.push(byte as char);
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

/// What [`escaped`] was made of, as a way; None where it is not one.
pub fn from_escaped(text: &str) -> Option<Option<Arc<Way>>> {
    if text == "." {
        return Some(None);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(byte);
        }
    }
    let mut way: Option<Arc<Way>> = None;
    for name in bytes.split(|&byte| byte == b'/') {
        if matches!(name, b"" | b"." | b"..") || depth(way.as_ref()) >= MOST_LEVELS {
            return None;
        }
        way = Some(Way::below(way.as_ref(), &CString::new(name).ok()?));
    }
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::symlink;

    fn made(names: &[&CStr]) -> Option<Arc<Way>> {
        names.iter().fold(None, |way, name| Some(Way::below(way.as_ref(), name)))
    }

    #[test]
    fn a_path_that_is_longer_than_a_call_takes_is_opened_in_pieces() {
        let place = tempfile::tempdir().unwrap();
        let root = File::open(place.path()).unwrap();
        let name = CString::new("n".repeat(200)).unwrap();
        let mut way = None;
        for _ in 0..50 {
            let above = open(root.as_fd(), way.as_ref(), false).unwrap();
            posix::make_directory_at(above.as_fd(), &name).unwrap();
            way = Some(Way::below(way.as_ref(), &name));
        }

        assert!(open(root.as_fd(), way.as_ref(), false).is_ok());
        assert_eq!((depth(way.as_ref()), path(way.as_ref(), c"").len()), (50, 50 * 201 - 1));
    }

    #[test]
    fn no_link_is_followed_on_the_way() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("real/below")).unwrap();
        symlink("real", place.path().join("link")).unwrap();
        let root = File::open(place.path()).unwrap();

        assert!(open(root.as_fd(), made(&[c"real", c"below"]).as_ref(), true).is_ok());
        assert!(open(root.as_fd(), made(&[c"link", c"below"]).as_ref(), true).is_err());
        assert!(open(root.as_fd(), made(&[c"link"]).as_ref(), true).is_err());
    }

    #[test]
    fn an_escaped_path_leads_back_and_leads_nowhere_else() {
        let way = made(&[c"a b", c"50%\n\xff", c"c"]);
        let text = escaped(&path(way.as_ref(), c""));

        assert_eq!(text, "a b/50%25%0a%ff/c");
        assert_eq!(path(from_escaped(&text).unwrap().as_ref(), c""), path(way.as_ref(), c""));
        assert!(from_escaped(".").unwrap().is_none());
        for wrong in ["", "/etc", "a/../b", "a//b", "a/%2e%2e", "a/./b", "%0", "%zz", "a%00"] {
            assert!(from_escaped(wrong).is_none(), "{wrong}");
        }
    }
}
