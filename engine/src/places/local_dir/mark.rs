//! The mark: the file that says a folder is Assay's own, what was laid out in it, and how far that came.
//!
//! It is the first thing written into a folder and the last thing removed. Nothing is ever removed, reused or written
//! in an existing folder that has none.

use crate::plan::FileSet;
use crate::sys::posix;
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;

/// Version of the mark.
pub const SCHEMA: &str = "assay.set/1";
/// File name of the mark.
pub const NAME: &CStr = c".assay-set.json";
/// Where a new state is written before it takes the place of the old one.
pub const NEXT_NAME: &CStr = c".assay-set.json.next";

const LARGEST_MARK_BYTES: u64 = 1 << 20;

/// How far a set has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Files are being made, or the making was cut off.
    LayingOut,
    /// All files were made and are on storage.
    Complete,
    /// Files are being removed, or the removal was cut off.
    Removing,
}

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The set as in the Plan that laid it out.
    pub set: FileSet,
    /// Seed of sizes and content.
    pub seed: u64,
    /// How far it has come.
    pub state: State,
    /// The run whose engines use the set together, where several do (`among` in the Plan).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// Whether that run found it, and so leaves it.
    #[serde(default, skip_serializing_if = "is_not")]
    pub is_found: bool,
    /// Whether several clients have files in the folder, each named after itself (`joint.rs`).
    #[serde(default, skip_serializing_if = "is_not")]
    pub is_joint: bool,
}

/// For what is left out where it is not.
fn is_not(value: &bool) -> bool {
    !value
}

impl Mark {
    /// The mark of a set.
    pub fn new(set: &FileSet, seed: u64, state: State) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            set: set.clone(),
            seed,
            state,
            run: String::new(),
            is_found: false,
            is_joint: false,
        }
    }

    /// Whether files, sizes, places and content are those of another set. Who made them and for how long is no matter.
    pub fn describes(&self, set: &FileSet, seed: u64) -> bool {
        let mine = &self.set;
        self.seed == seed
            && !self.is_joint
            && (&mine.name, mine.files, &mine.size, &mine.layout) == (&set.name, set.files, &set.size, &set.layout)
            && (&mine.file_name, mine.existing_share) == (&set.file_name, set.existing_share)
            && (&mine.content, mine.allocate) == (&set.content, set.allocate)
    }

    /// Read the mark of an open folder; `None` if there is none.
    pub fn read(folder: BorrowedFd<'_>) -> io::Result<Option<Self>> {
        // Whatever lies under that name is neither waited for nor read without an end.
        let file = match posix::open_beneath(folder, NAME, libc::O_RDONLY | libc::O_NONBLOCK, 0) {
            Ok(file) => File::from(file),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
            Err(error) => return Err(error),
        };
        let facts = file.metadata()?;
        if !facts.is_file() || facts.len() > LARGEST_MARK_BYTES {
            let why = format!("it is no file of at most {LARGEST_MARK_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut text = Vec::new();
        file.take(LARGEST_MARK_BYTES).read_to_end(&mut text)?;
        let mark: Self = serde_json::from_slice(&text)?;
        if mark.schema != SCHEMA {
            let why = format!("its schema is '{}', this engine knows '{SCHEMA}'", mark.schema);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(Some(mark))
    }

    /// Put the mark into an open folder, whole or not at all, on storage when this returns.
    pub fn write(&self, folder: BorrowedFd<'_>) -> io::Result<()> {
        self.replace(folder).inspect_err(|_| {
            let _ = posix::unlink_at(folder, NEXT_NAME);
        })
    }

    fn replace(&self, folder: BorrowedFd<'_>) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        match posix::unlink_at(folder, NEXT_NAME) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        let mut file = File::from(posix::open_beneath(folder, NEXT_NAME, flags, 0o644)?);
        file.write_all(&text)?;
        file.sync_all()?;
        posix::rename_at(folder, NEXT_NAME, NAME)?;
        sync_directory(folder)
    }
}

/// `fsync` of a directory; file systems that cannot (EINVAL) keep their own order.
fn sync_directory(folder: BorrowedFd<'_>) -> io::Result<()> {
    match File::from(folder.try_clone_to_owned()?).sync_all() {
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) => Err(error),
        _ => Ok(()),
    }
}
