//! The table as a file: a header of one line of JSON, then one word a block.
//!
//! While a run uses it, it is a file in memory, never on the storage under test: there it would load the device that is
//! measured, and take the engine with it where that fails. `/dev/shm` keeps it when the engine is killed. Where there is no
//! room, it is in memory that ends with the engine. At the end of a run [`Table::keep`] writes it beside the set; whoever
//! takes it up from there takes it away, so that one beside a set is always the newest.

use crate::observe::facts::boot_id;
use crate::observe::is_in_memory;
use crate::sys::mapped_words::MappedWords;
use crate::sys::posix;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where the words begin; the header is before them.
const HEADER_BYTES: usize = 4096;
const SCHEMA: &str = "assay.generations/1";
/// A folder in memory whose files outlive the process.
const IN_MEMORY: &str = "/dev/shm";
const COPY_BYTES: usize = 1 << 20;

/// What a table is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    schema: String,
    content_seed: u64,
    unit_bytes: u64,
    blocks: u64,
    boot: String,
    /// What a word of zeros means.
    #[serde(default)]
    pub first: u64,
}

impl Header {
    /// Of a table that is written since this boot of the machine.
    pub fn new(content_seed: u64, unit_bytes: u64, blocks: u64) -> Self {
        Self { schema: SCHEMA.to_owned(), content_seed, unit_bytes, blocks, boot: boot_id(), first: 0 }
    }

    /// Header of a table; None: it is damaged.
    fn read(file: &File) -> Option<Self> {
        let mut text = vec![0; HEADER_BYTES];
        file.read_exact_at(&mut text, 0).ok()?;
        let end = text.iter().position(|byte| *byte == b'\n')?;
        let header: Self = serde_json::from_slice(&text[..end]).ok()?;
        let bytes = header.blocks.checked_mul(8)?.checked_add(HEADER_BYTES as u64)?;
        (file.metadata().ok()?.len() == bytes).then_some(header)
    }

    /// Put it in front of the table.
    fn write(&self, mut file: &File) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        text.resize(HEADER_BYTES, 0);
        io::Seek::rewind(&mut file)?;
        file.write_all(&text)
    }

    fn bytes(&self) -> u64 {
        HEADER_BYTES as u64 + self.blocks * 8
    }

    /// Whether both are of the same blocks, at whatever boot.
    fn fits(&self, other: &Self) -> bool {
        Self { boot: other.boot.clone(), first: other.first, ..self.clone() } == *other
    }

    /// Whether both were written since the same boot.
    pub fn is_same_boot(&self, other: &Self) -> bool {
        self.boot == other.boot
    }
}

/// A table in use.
#[derive(Debug)]
pub(super) struct Table {
    pub words: MappedWords,
    file: File,
    /// Its name in memory, if it has one.
    name: Option<PathBuf>,
    /// The set's folder, where it lies between runs.
    folder: OwnedFd,
}

impl Table {
    /// The table of a set in `folder`, and the header of the one that an earlier run left, whose words it then has.
    pub fn open(folder: OwnedFd, header: &Header, laid_out_anew: bool) -> io::Result<(Self, Option<Header>)> {
        let name = name_in_memory(folder.as_fd());
        let fitting = |file: File| {
            let old = Header::read(&file).filter(|old| !laid_out_anew && old.fits(header))?;
            Some((old, file))
        };
        let beside = posix::open_beneath(folder.as_fd(), super::NAME, libc::O_RDONLY | libc::O_NONBLOCK, 0);
        let kept = beside.ok().map(File::from).and_then(fitting);
        let left = || own_file(name.as_ref()?, false).ok().and_then(fitting);
        let (file, name, old) = match (kept, name.is_some()) {
            (None, true) => match left() {
                Some((old, file)) => (file, name, Some(old)),
                None => fresh(name, header).map(|(file, name)| (file, name, None))?,
            },
            (kept, _) => {
                let (file, name) = fresh(name, header)?;
                if let Some((_, beside)) = &kept {
                    copy(beside, &file, header.bytes())?;
                }
                (file, name, kept.map(|(old, _)| old))
            }
        };
        match posix::unlink_at(folder.as_fd(), super::NAME) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let words = MappedWords::new(&file, HEADER_BYTES, header.blocks as usize)?;
        Ok((Self { words, file, name, folder }, old))
    }

    /// Describe what it is of.
    pub fn describe(&self, header: &Header) -> io::Result<()> {
        header.write(&self.file)
    }

    /// Write it beside the set, for later runs.
    pub fn keep(&self) -> io::Result<()> {
        let bytes = self.file.metadata()?.len();
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        let beside = File::from(posix::open_beneath(self.folder.as_fd(), super::NAME, flags, 0o644)?);
        copy(&self.file, &beside, bytes)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::remove_file(name);
        }
    }
}

/// Take away the table of the set in a folder from memory.
pub(super) fn forget(folder: BorrowedFd<'_>) {
    if let Some(name) = name_in_memory(folder).filter(|name| own_file(name, false).is_ok()) {
        let _ = fs::remove_file(name);
    }
}

/// Name in memory of the table of the set in a folder; None: there is no such memory.
pub(super) fn name_in_memory(folder: BorrowedFd<'_>) -> Option<PathBuf> {
    let facts = posix::fstat(folder).ok()?;
    File::open(IN_MEMORY)
        .is_ok_and(|memory| is_in_memory(memory.as_fd()))
        .then(|| Path::new(IN_MEMORY).join(format!("assay-generations-{:x}-{:x}", facts.st_dev, facts.st_ino)))
}

/// A file in memory that is this user's own. Others may write in that folder too: what they left under the name is neither
/// waited for nor written to.
fn own_file(path: &Path, makes: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(makes).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path)?;
    let facts = file.metadata()?;
    let is_own = facts.is_file() && facts.uid() == posix::user() && facts.nlink() == 1;
    if is_own { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Room for a table of zeros. With a name every page of it is there: a store to one that memory has no room for would kill
/// the engine.
fn fresh(name: Option<PathBuf>, header: &Header) -> io::Result<(File, Option<PathBuf>)> {
    if let Some((file, name)) = name.and_then(|name| Some((own_file(&name, true).ok()?, name))) {
        if file.set_len(0).and_then(|()| posix::allocate(file.as_fd(), header.bytes())).is_ok() {
            return Ok((file, Some(name)));
        }
        let _ = fs::remove_file(name);
    }
    let file = posix::memory_file(c"assay-generations")?;
    file.set_len(header.bytes())?;
    Ok((file, None))
}

/// Copy a table into an empty file, leaving out what is zero. Its length comes last: a table that is cut short fits nothing.
fn copy(from: &File, to: &File, bytes: u64) -> io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut at = 0;
    while at < bytes {
        let piece = &mut buffer[..(bytes - at).min(COPY_BYTES as u64) as usize];
        from.read_exact_at(piece, at)?;
        if piece.iter().any(|byte| *byte != 0) {
            to.write_all_at(piece, at)?;
        }
        at += piece.len() as u64;
    }
    to.set_len(bytes)
}
