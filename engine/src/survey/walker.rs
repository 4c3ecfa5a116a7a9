//! Read directories as they are found, by several threads, and look at every name in them.

use super::frontier::{Frontier, Waiting};
use super::samples::{Sample, key_by_bytes, random_of};
use super::tally::{FileFacts, Tally};
use super::way::{self, MOST_LEVELS, Way};
use crate::sys::dents::{self, Dent};
use crate::sys::posix;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of entries that are read at a time, about a thousand names: between two of them a stop is noticed.
const BLOCK_BYTES: usize = 32 * 1024;
/// Names that a thread counts by itself before it adds them to the whole.
const MOST_APART: u64 = 4096;

/// What all threads go by.
#[derive(Debug)]
pub struct Walker<'a> {
    /// The surveyed directory.
    pub root: BorrowedFd<'a>,
    /// Its device.
    pub device: u64,
    /// Whether other file systems are surveyed too.
    pub crosses: bool,
    /// Whether files are chosen to look into.
    pub samples: bool,
    /// The time that ages are reckoned from.
    pub now_s: i64,
    /// What is to be read.
    pub frontier: &'a Frontier,
    /// What all threads have counted.
    pub whole: &'a Mutex<Tally>,
}

/// Reports that a directory is done, however that came.
struct Turn<'a>(&'a Frontier);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.done();
    }
}

/// What one thread has beside.
struct Apart {
    tally: Tally,
    names: u64,
    found: Vec<Waiting>,
    block: Vec<u8>,
    /// What the keys of samples by number and by bytes have to be below, as far as this thread has noticed.
    bars: (u64, u64),
}

impl Walker<'_> {
    /// Read directories until none is left, or until a stop.
    pub fn work(&self) {
        let mut apart = Apart {
            tally: Tally::default(),
            names: 0,
            found: Vec::new(),
            block: vec![0; BLOCK_BYTES],
            bars: (u64::MAX, u64::MAX),
        };
        while let Some(waiting) = self.frontier.take() {
            let turn = Turn(self.frontier);
            self.read(waiting, &mut apart);
            if apart.names >= MOST_APART {
                self.add(&mut apart);
            }
            drop(turn);
        }
        self.add(&mut apart);
    }

    fn add(&self, apart: &mut Apart) {
        apart.names = 0;
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        whole.merge(std::mem::take(&mut apart.tally));
        apart.bars = (whole.by_number.bar(), whole.by_bytes.bar());
    }

    fn read(&self, mut waiting: Waiting, apart: &mut Apart) {
        let way = waiting.way.clone();
        let opened = match waiting.opened.take() {
            Some(directory) => Ok(directory),
            None => self.open(&waiting),
        };
        let directory = match opened {
            Ok(directory) => directory,
            Err(error) => return self.count_closed(&error, way.as_ref(), &mut apart.tally),
        };
        loop {
            if self.frontier.is_stopped() {
                self.put(Some(Waiting { opened: Some(directory), ..waiting }), apart);
                return;
            }
            let mut block = std::mem::take(&mut apart.block);
            let filled = dents::read_block(directory.as_fd(), &mut block);
            for entry in dents::dents(&block[..*filled.as_ref().unwrap_or(&0)]) {
                waiting.entries += 1;
                waiting.position = entry.position;
                self.look(directory.as_fd(), way.as_ref(), entry, apart);
            }
            apart.block = block;
            match filled {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return self.count_closed(&error, way.as_ref(), &mut apart.tally),
            }
            if apart.names >= MOST_APART {
                self.add(apart);
            }
            if !apart.found.is_empty() && self.frontier.is_full() {
                self.put(Some(Waiting { opened: Some(directory), ..waiting }), apart);
                return;
            }
            self.put(None, apart);
        }
        apart.tally.add_directory(way::depth(way.as_ref()), waiting.entries);
        apart.names += 1;
    }

    fn put(&self, half: Option<Waiting>, apart: &mut Apart) {
        if half.is_some() || !apart.found.is_empty() {
            let without_room = self.frontier.put(half, &mut apart.found);
            apart.tally.left_out.count += without_room as u64;
        }
    }

    fn open(&self, waiting: &Waiting) -> io::Result<OwnedFd> {
        let directory = way::open(self.root, waiting.way.as_ref(), self.crosses)?;
        // Kernels before Linux 5.6 do not notice mounts by themselves.
        if !self.crosses && posix::fstat(directory.as_fd())?.st_dev != self.device {
            return Err(io::Error::from_raw_os_error(libc::EXDEV));
        }
        if waiting.position != 0 {
            dents::go_on_at(directory.as_fd(), waiting.position)?;
        }
        Ok(directory)
    }

    fn count_closed(&self, error: &io::Error, way: Option<&Arc<Way>>, tally: &mut Tally) {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => tally.vanished += 1,
            Some(libc::EXDEV) => tally.mounts.add(|| way::shown(way, c""), "mount"),
            _ => tally.unreadable.add(|| way::shown(way, c""), &reason(error)),
        }
    }

    fn look(&self, directory: BorrowedFd<'_>, way: Option<&Arc<Way>>, entry: Dent<'_>, apart: &mut Apart) {
        apart.names += 1;
        match entry.kind {
            libc::DT_LNK => apart.tally.links += 1,
            libc::DT_CHR | libc::DT_BLK | libc::DT_FIFO | libc::DT_SOCK => apart.tally.others += 1,
            _ => match posix::stat_at(directory, entry.name) {
                Ok(status) => self.count(way, entry.name, &status, apart),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => apart.tally.vanished += 1,
                Err(error) => apart.tally.unseen.add(|| way::shown(way, entry.name), &reason(&error)),
            },
        }
    }

    fn count(&self, way: Option<&Arc<Way>>, name: &CStr, status: &libc::stat, apart: &mut Apart) {
        match status.st_mode & libc::S_IFMT {
            libc::S_IFREG => {
                let bytes = status.st_size.max(0) as u64;
                apart.tally.add_file(FileFacts {
                    bytes,
                    blocks: status.st_blocks.max(0) as u64,
                    names: status.st_nlink,
                    modified_s: self.now_s.saturating_sub(status.st_mtime),
                    accessed_s: self.now_s.saturating_sub(status.st_atime),
                    depth: way::depth(way) + 1,
                });
                if self.samples && bytes > 0 {
                    choose(way, name, status, apart);
                }
            }
            libc::S_IFDIR if status.st_dev != self.device && !self.crosses => {
                apart.tally.mounts.add(|| way::shown(way, name), "file system");
            }
            libc::S_IFDIR if way::depth(way) >= MOST_LEVELS => {
                apart.tally.left_out.add(|| way::shown(way, name), "too deep");
            }
            libc::S_IFDIR => apart.found.push(Waiting::new(Some(Way::below(way, name)))),
            libc::S_IFLNK => apart.tally.links += 1,
            _ => apart.tally.others += 1,
        }
    }
}

/// Offer a file to both samples.
fn choose(way: Option<&Arc<Way>>, name: &CStr, status: &libc::stat, apart: &mut Apart) {
    let (inode, bytes) = (status.st_ino, status.st_size as u64);
    let sample = || Sample { path: way::escaped(&way::path(way, name)), inode, bytes };
    let random = random_of(status.st_dev, inode);
    if random < apart.bars.0 {
        apart.tally.by_number.offer(random, sample);
    }
    let by_bytes = key_by_bytes(random_of(status.st_dev ^ u64::MAX, inode), bytes);
    if by_bytes < apart.bars.1 {
        apart.tally.by_bytes.offer(by_bytes, sample);
    }
}

/// What the system calls an error, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
