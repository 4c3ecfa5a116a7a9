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
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
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
    /// What a word of zeros stands for.
    #[serde(default)]
    pub first: u64,
}

impl Header {
    /// Of a table that is written since this boot of the machine.
    pub fn new(content_seed: u64, unit_bytes: u64, blocks: u64) -> Self {
        Self { schema: SCHEMA.to_owned(), content_seed, unit_bytes, blocks, boot: boot_id(), first: 0 }
    }

    /// Header of the table that is there; None: there is none, or it is damaged.
    fn read(path: &Path) -> Option<Self> {
        let mut text = vec![0; HEADER_BYTES];
        File::open(path).ok()?.read_exact(&mut text).ok()?;
        let end = text.iter().position(|byte| *byte == b'\n')?;
        let header: Self = serde_json::from_slice(&text[..end]).ok()?;
        let bytes = HEADER_BYTES as u64 + header.blocks.checked_mul(8)?;
        (fs::metadata(path).ok()?.len() == bytes).then_some(header)
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
    beside: PathBuf,
}

impl Table {
    /// The table of a set in `folder`, and the header of the one that an earlier run left, whose words it then has.
    pub fn open(folder: &Path, header: &Header, laid_out_anew: bool) -> io::Result<(Self, Option<Header>)> {
        let beside = folder.join(super::NAME.to_str().expect("ASCII"));
        let name = name_in_memory(folder);
        let fitting = |path: &PathBuf| Header::read(path).filter(|old| !laid_out_anew && old.fits(header));
        let kept = fitting(&beside);
        let left = || Some((fitting(name.as_ref()?)?, own_file(name.as_ref()?, false).ok()?));
        let (file, name, old) = match (kept, name.is_some()) {
            (None, true) => match left() {
                Some((old, file)) => (file, name, Some(old)),
                None => fresh(name, header).map(|(file, name)| (file, name, None))?,
            },
            (kept, _) => {
                let (file, name) = fresh(name, header)?;
                if kept.is_some() {
                    copy(&File::open(&beside)?, &file, header.bytes())?;
                }
                (file, name, kept)
            }
        };
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let words = MappedWords::new(&file, HEADER_BYTES, header.blocks as usize)?;
        Ok((Self { words, file, name, beside }, old))
    }

    /// Say what it is of.
    pub fn describe(&self, header: &Header) -> io::Result<()> {
        header.write(&self.file)
    }

    /// Write it beside the set, for later runs.
    pub fn keep(&self) -> io::Result<()> {
        let bytes = self.file.metadata()?.len();
        let beside = File::create(&self.beside)?;
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

/// Name in memory of the table of the set in a folder; None: there is no such memory.
pub(super) fn name_in_memory(folder: &Path) -> Option<PathBuf> {
    let facts = fs::metadata(folder).ok()?;
    File::open(IN_MEMORY)
        .is_ok_and(|memory| is_in_memory(memory.as_fd()))
        .then(|| Path::new(IN_MEMORY).join(format!("assay-generations-{:x}-{:x}", facts.dev(), facts.ino())))
}

/// A file in memory that is this user's own.
fn own_file(path: &Path, makes: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(makes).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let file = options.open(path)?;
    if file.metadata()?.uid() == posix::user() { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Room for a table of zeros. With a name every page of it is there: a store to one that memory has no room for would kill
/// the engine.
fn fresh(name: Option<PathBuf>, header: &Header) -> io::Result<(File, Option<PathBuf>)> {
    let roomy = |name: &PathBuf| {
        let file = own_file(name, true)?;
        file.set_len(0)?;
        posix::allocate(file.as_fd(), header.bytes()).map(|()| file)
    };
    if let Some(name) = name {
        match roomy(&name) {
            Ok(file) => return Ok((file, Some(name))),
            Err(_) => drop(fs::remove_file(&name)),
        }
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
