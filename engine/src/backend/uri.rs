//! Parse a target's URI into its store and the path in it.

use crate::error::{EngineError, Result};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What a target's URI begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `file://`: directories of this machine.
    File,
    /// `block:`: block devices of this machine.
    Block,
    /// `null://`: nothing (`null.rs`).
    #[cfg(test)]
    Null,
}

impl Scheme {
    /// The store of a URI, and the path in it.
    ///
    /// # Errors
    ///
    /// A Plan error where this engine has no such store, and for what is no path.
    pub fn of(uri: &str) -> Result<(Self, PathBuf)> {
        let unfit = |why: &str| EngineError::Plan(format!("target '{uri}' {why}"));
        let (scheme, rest) = match (uri.strip_prefix("block:"), uri.split_once("://")) {
            (Some(rest), _) => (Self::Block, rest),
            (None, Some(("file", rest))) => (Self::File, rest.strip_prefix("localhost").unwrap_or(rest)),
            #[cfg(test)]
            (None, Some(("null", rest))) => (Self::Null, rest),
            _ => return Err(unfit("is none: this engine takes file:///absolute/directory and block:/dev/name")),
        };
        let path = rest;
        if !path.starts_with('/') {
            return Err(unfit("has no absolute path; write file:///absolute/directory or block:/dev/name"));
        }
        let bytes = decode_percent(path.as_bytes()).ok_or_else(|| unfit("has a '%' that no two hex digits follow"))?;
        if bytes.contains(&0) {
            return Err(unfit("holds a NUL, which no path can"));
        }
        Ok((scheme, PathBuf::from(OsString::from_vec(bytes))))
    }

    /// The store that it is reached by: a device's node is a file of the kernel's like others.
    pub fn store(self) -> Self {
        if self == Self::Block { Self::File } else { self }
    }
}

fn decode_percent(text: &[u8]) -> Option<Vec<u8>> {
    let mut rest = text.iter();
    let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    while let Some(&byte) = rest.next() {
        let decoded = if byte == b'%' { (digit(rest.next())? * 16 + digit(rest.next())?) as u8 } else { byte };
        bytes.push(decoded);
    }
    Some(bytes)
}

/// The `file://` URI of a directory, with everything that is special in a URI encoded.
pub fn uri_of(directory: &Path) -> String {
    let encode = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    format!("file://{}", directory.as_os_str().as_bytes().iter().map(encode).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsStr;

    #[test]
    fn uris_give_the_directory_they_encode() {
        let directory = |uri| Scheme::of(uri).unwrap();

        assert_eq!(directory("file:///mnt/My%20Data%C3%A9"), (Scheme::File, PathBuf::from("/mnt/My Dataé")));
        assert_eq!(directory("file://localhost/mnt"), (Scheme::File, PathBuf::from("/mnt")));
        assert_eq!(directory("block:/dev/disk/by-id/a%20b"), (Scheme::Block, PathBuf::from("/dev/disk/by-id/a b")));
    }

    #[test]
    fn other_targets_are_plan_errors() {
        for uri in [
            "/mnt",
            "nfs://server/export",
            "block:sda",
            "file://server/export",
            "file://relative",
            "file:///a%2",
            "file:///%00",
        ] {
            assert!(matches!(Scheme::of(uri), Err(EngineError::Plan(_))), "{uri}");
        }
    }

    proptest! {
        #[test]
        fn any_path_survives_its_uri(name in proptest::collection::vec(1_u8.., 0..40)) {
            let path = Path::new("/").join(OsStr::from_bytes(&name));

            prop_assert_eq!(Scheme::of(&uri_of(&path)).unwrap(), (Scheme::File, path));
        }
    }
}
