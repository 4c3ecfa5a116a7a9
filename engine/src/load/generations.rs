//! How often each block of a stamped set was written: what a reader may expect to find.
//!
//! Eight bytes a block in a file beside the set, mapped into memory and shared by all workers. A write takes its block's
//! next generation before it is issued, and raises the block's floor when it is done; a reader may find nothing older than
//! the floor and nothing newer than what was issued. Because the table is a mapped file, what was acknowledged stays known
//! when the engine is killed, and later runs go on from there. It is not forced to storage: after the machine has gone down,
//! acknowledged writes may be lost by right, so floors of an earlier boot do not count.
//!
//! Where writes to one block overlap, or one failed, nobody can say which of them is on storage: the floor stays where it
//! was until a write that had the block to itself is done.

use crate::error::{EngineError, Result};
use crate::load::fileset::FileSetState;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Name of the table in the set's folder.
pub const NAME: &std::ffi::CStr = c".assay-generations";
/// Where the table begins; the header is before it.
const HEADER_BYTES: usize = 4096;
const SCHEMA: &str = "assay.generations/1";

const GENERATION_BITS: u32 = 27;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;
const FLOOR_SHIFT: u32 = GENERATION_BITS;
const FLIGHT_SHIFT: u32 = 2 * GENERATION_BITS;
const FLIGHT_MASK: u64 = (1 << 9) - 1;
const AMBIGUOUS: u64 = 1 << 63;
/// Issued so far of a block whose history is not known: what is found may be anything up to this.
const UNKNOWN: u64 = 1 << (GENERATION_BITS - 1);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    schema: String,
    content_seed: u64,
    unit_bytes: u64,
    blocks: u64,
    boot: String,
}

/// What a reader may find in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Oldest generation that is right.
    pub floor: u64,
    /// Newest generation that was ever issued.
    pub issued: u64,
    /// Whether parts of several of these generations may stand side by side.
    pub may_mix: bool,
    /// Whether a write was under way at some time of the read. Buffered reads and writes of a page do not exclude each
    /// other, so that even a sector can be half of each, and nothing can be said about one that is not whole.
    pub overlapped: bool,
}

/// The table of one set.
#[derive(Debug)]
pub struct Generations {
    table: Mapping,
    unit_bytes: u64,
    places: Places,
    is_known: bool,
}

/// Where the blocks of a file begin in the table.
#[derive(Debug)]
enum Places {
    Equal {
        blocks: u64,
        files: u64,
    },
    /// One more than there are files.
    Begins(Vec<u64>),
}

impl Places {
    fn new(state: &FileSetState, unit_bytes: u64) -> Self {
        if let Some(size) = state.fixed_size() {
            return Self::Equal { blocks: size.div_ceil(unit_bytes), files: state.files() };
        }
        let sizes = (0..state.files()).map(|index| state.size_of(index).div_ceil(unit_bytes));
        let ends = sizes.scan(0, |end, blocks| {
            *end += blocks;
            Some(*end)
        });
        Self::Begins(std::iter::once(0).chain(ends).collect())
    }

    fn total(&self) -> u64 {
        match self {
            Self::Equal { blocks, files } => blocks * files,
            Self::Begins(begins) => begins[begins.len() - 1],
        }
    }

    #[inline]
    fn find(&self, file: u64, block: u64) -> Option<usize> {
        let (begin, end) = match self {
            Self::Equal { blocks, files } => {
                if file >= *files {
                    return None;
                }
                (file * blocks, (file + 1) * blocks)
            }
            Self::Begins(begins) => (*begins.get(file as usize)?, *begins.get(file as usize + 1)?),
        };
        let place = begin + block;
        (place < end).then_some(place as usize)
    }
}

impl Generations {
    /// The table of a set that is in place. A set laid out a moment ago begins anew; else the table that an earlier run
    /// left is used, and where there is none that fits, all that is found of whole blocks is taken for right.
    ///
    /// # Errors
    ///
    /// The system call that failed.
    pub fn open(state: &FileSetState, unit_bytes: u64, laid_out_anew: bool) -> Result<Self> {
        let path = path_of(state);
        let places = Places::new(state, unit_bytes);
        let failed = |error| EngineError::io("keep the generations of", &path, error);
        let header = Header {
            schema: SCHEMA.to_owned(),
            content_seed: state.content_seed(),
            unit_bytes,
            blocks: places.total(),
            boot: boot_id(),
        };
        let old = if laid_out_anew { None } else { read_header(&path) };
        let fits = old.as_ref().is_some_and(|old| Header { boot: header.boot.clone(), ..old.clone() } == header);
        if !fits {
            make(&path, header.blocks).map_err(failed)?;
        }
        let file = File::options().read(true).write(true).open(&path).map_err(failed)?;
        let table = Mapping::new(&file, header.blocks as usize).map_err(failed)?;
        let same_boot = fits && old.is_some_and(|old| old.boot == header.boot);
        for entry in table.entries() {
            let value = entry.load(Ordering::Relaxed);
            entry.store(resumed(value, laid_out_anew || fits, laid_out_anew || same_boot), Ordering::Relaxed);
        }
        write_header(&file, &header).map_err(failed)?;
        Ok(Self { table, unit_bytes, places, is_known: laid_out_anew || same_boot })
    }

    /// Bytes that have a generation of their own.
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// Whether the history of the blocks is known, so that a stale one can be told.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Whether every block is as it was laid out.
    pub fn is_untouched(&self) -> bool {
        self.table.entries().iter().all(|entry| entry.load(Ordering::Relaxed) == 0)
    }

    #[inline]
    fn entry(&self, file: u64, offset_bytes: u64) -> Option<&AtomicU64> {
        let place = self.places.find(file, offset_bytes / self.unit_bytes)?;
        self.table.entries().get(place)
    }

    /// A write of the block at an offset is about to be issued: its generation. 0 beyond the end of the file's size.
    #[inline]
    pub fn begin_write(&self, file: u64, offset_bytes: u64) -> u64 {
        let Some(entry) = self.entry(file, offset_bytes) else { return 0 };
        let before = update(entry, |value| {
            let ambiguous = if in_flight(value) > 0 { AMBIGUOUS } else { 0 };
            let issued = (issued(value) + 1).min(GENERATION_MASK);
            pack(issued, floor(value), (in_flight(value) + 1).min(FLIGHT_MASK), ambiguous)
        });
        (issued(before) + 1).min(GENERATION_MASK)
    }

    /// That write is over.
    #[inline]
    pub fn end_write(&self, file: u64, offset_bytes: u64, succeeded: bool) {
        let Some(entry) = self.entry(file, offset_bytes) else { return };
        update(entry, |value| {
            let left = if in_flight(value) == FLIGHT_MASK { FLIGHT_MASK } else { in_flight(value).saturating_sub(1) };
            let ambiguous = if succeeded { value & AMBIGUOUS } else { AMBIGUOUS };
            let settled = left == 0 && ambiguous == 0;
            pack(issued(value), if settled { issued(value) } else { floor(value) }, left, ambiguous)
        });
    }

    /// The block's state, to be given to [`Generations::expected`] when the read is over.
    #[inline]
    pub fn before_read(&self, file: u64, offset_bytes: u64) -> u64 {
        self.entry(file, offset_bytes).map_or(0, |entry| entry.load(Ordering::Acquire))
    }

    /// What a read that began at state `before`, and is over now, may have found. None beyond the end of the file's size.
    pub fn expected(&self, file: u64, offset_bytes: u64, before: u64) -> Option<Expected> {
        let after = self.entry(file, offset_bytes)?.load(Ordering::Acquire);
        let overlapped = in_flight(before) > 0 || issued(before) != issued(after);
        // Generations that have run out are not told apart any more.
        let ran_out = issued(after) == GENERATION_MASK;
        Some(Expected {
            floor: if ran_out { 0 } else { floor(before) },
            issued: issued(after),
            may_mix: overlapped || ran_out || before & AMBIGUOUS != 0,
            overlapped,
        })
    }
}

fn issued(value: u64) -> u64 {
    value & GENERATION_MASK
}

fn floor(value: u64) -> u64 {
    value >> FLOOR_SHIFT & GENERATION_MASK
}

fn in_flight(value: u64) -> u64 {
    value >> FLIGHT_SHIFT & FLIGHT_MASK
}

fn pack(issued: u64, floor: u64, in_flight: u64, ambiguous: u64) -> u64 {
    issued | floor << FLOOR_SHIFT | in_flight << FLIGHT_SHIFT | ambiguous
}

fn update(entry: &AtomicU64, change: impl Fn(u64) -> u64) -> u64 {
    let changed = entry.fetch_update(Ordering::AcqRel, Ordering::Acquire, |value| Some(change(value)));
    changed.unwrap_or_else(|value| value)
}

/// An entry of an earlier run: what was in flight when it died may or may not be there.
fn resumed(value: u64, has_history: bool, same_boot: bool) -> u64 {
    if !has_history {
        return pack(UNKNOWN, 0, 0, 0);
    }
    let ambiguous = if in_flight(value) > 0 { AMBIGUOUS } else { value & AMBIGUOUS };
    pack(issued(value), if same_boot { floor(value) } else { 0 }, 0, ambiguous)
}

/// Where the table of a set is.
pub fn path_of(state: &FileSetState) -> PathBuf {
    state.folder().join(NAME.to_str().expect("ASCII"))
}

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn read_header(path: &std::path::Path) -> Option<Header> {
    let mut text = vec![0; HEADER_BYTES];
    File::open(path).ok()?.read_exact(&mut text).ok()?;
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let header: Header = serde_json::from_slice(&text[..end]).ok()?;
    let bytes = HEADER_BYTES as u64 + header.blocks.checked_mul(8)?;
    (std::fs::metadata(path).ok()?.len() == bytes).then_some(header)
}

fn write_header(mut file: &File, header: &Header) -> io::Result<()> {
    let mut text = serde_json::to_vec(header)?;
    text.push(b'\n');
    text.resize(HEADER_BYTES, 0);
    io::Seek::rewind(&mut file)?;
    file.write_all(&text)
}

/// A table of zeros, every block of it written: a store to memory without a block behind it would kill the engine.
fn make(path: &std::path::Path, blocks: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    io::copy(&mut io::repeat(0).take(HEADER_BYTES as u64 + blocks * 8), &mut file).map(drop)
}

/// A file in memory.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    entries: usize,
}

// SAFETY: the memory is reached only as atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &File, entries: usize) -> io::Result<Self> {
        let length = HEADER_BYTES + entries * 8;
        // SAFETY: a new shared mapping of a file of exactly this length; the result is checked.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: NonNull::new(address.cast()).expect("mmap never gives address zero"), entries })
    }

    fn entries(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds this many words behind its page-sized header, lives as long as `self`, and is only
        // ever used as atomics.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(HEADER_BYTES).cast(), self.entries) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; slices of it borrow `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), HEADER_BYTES + self.entries * 8) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::fileset::tests::set;
    use crate::plan::{Distribution, Layout};

    fn state(folder: &std::path::Path, size: Distribution) -> FileSetState {
        let mut plan = set(4, 0.0, Layout::Flat {});
        plan.size = size;
        std::fs::create_dir_all(folder.join("data")).unwrap();
        FileSetState::new(&plan, folder, 1).unwrap()
    }

    fn fixed(folder: &std::path::Path) -> FileSetState {
        state(folder, Distribution::Fixed { value: 40_000.0 })
    }

    fn expected(table: &Generations, offset: u64) -> Expected {
        table.expected(1, offset, table.before_read(1, offset)).unwrap()
    }

    #[test]
    fn a_finished_write_is_the_only_generation_that_is_right() {
        let folder = tempfile::tempdir().unwrap();
        let table = Generations::open(&fixed(folder.path()), 4096, true).unwrap();

        for generation in 1..=3 {
            assert_eq!(table.begin_write(1, 8192), generation);
            table.end_write(1, 8192, true);
            assert_eq!(
                expected(&table, 8192),
                Expected { floor: generation, issued: generation, may_mix: false, overlapped: false }
            );
        }
        assert_eq!(expected(&table, 4096), Expected { floor: 0, issued: 0, may_mix: false, overlapped: false });
    }

    #[test]
    fn of_writes_that_overlap_either_is_right_until_one_has_the_block_to_itself() {
        let folder = tempfile::tempdir().unwrap();
        let table = Generations::open(&fixed(folder.path()), 4096, true).unwrap();

        table.begin_write(1, 0);
        table.begin_write(1, 0);
        table.end_write(1, 0, true);
        table.end_write(1, 0, true);
        assert_eq!(expected(&table, 0), Expected { floor: 0, issued: 2, may_mix: true, overlapped: false });

        table.begin_write(1, 0);
        table.end_write(1, 0, true);
        assert_eq!(expected(&table, 0), Expected { floor: 3, issued: 3, may_mix: false, overlapped: false });
    }

    #[test]
    fn a_failed_write_may_be_there_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let table = Generations::open(&fixed(folder.path()), 4096, true).unwrap();

        table.begin_write(1, 0);
        table.end_write(1, 0, false);

        assert_eq!(expected(&table, 0), Expected { floor: 0, issued: 1, may_mix: true, overlapped: false });
    }

    #[test]
    fn a_read_that_a_write_overlaps_may_find_both() {
        let folder = tempfile::tempdir().unwrap();
        let table = Generations::open(&fixed(folder.path()), 4096, true).unwrap();

        let before = table.before_read(1, 0);
        table.begin_write(1, 0);
        table.end_write(1, 0, true);

        assert_eq!(
            table.expected(1, 0, before),
            Some(Expected { floor: 0, issued: 1, may_mix: true, overlapped: true })
        );
    }

    #[test]
    fn a_later_run_knows_what_was_acknowledged_and_what_was_in_flight() {
        let folder = tempfile::tempdir().unwrap();
        let state = fixed(folder.path());
        let table = Generations::open(&state, 4096, true).unwrap();
        table.begin_write(1, 0);
        table.end_write(1, 0, true);
        table.begin_write(1, 4096);
        drop(table);

        let table = Generations::open(&state, 4096, false).unwrap();

        assert!(table.is_known());
        assert_eq!(expected(&table, 0), Expected { floor: 1, issued: 1, may_mix: false, overlapped: false });
        assert_eq!(expected(&table, 4096), Expected { floor: 0, issued: 1, may_mix: true, overlapped: false });
    }

    #[test]
    fn without_a_table_that_fits_nothing_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        let state = fixed(folder.path());
        drop(Generations::open(&state, 4096, true).unwrap());

        let table = Generations::open(&state, 512, false).unwrap();

        assert!(!table.is_known());
        assert_eq!(expected(&table, 0), Expected { floor: 0, issued: UNKNOWN, may_mix: false, overlapped: false });
        assert_eq!(table.begin_write(1, 0), UNKNOWN + 1);
    }

    #[test]
    fn every_block_of_files_of_any_size_has_a_place_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let state = state(folder.path(), Distribution::Uniform { min: 0.0, max: 50_000.0 });
        let table = Generations::open(&state, 4096, true).unwrap();

        let mut places = Vec::new();
        for file in 0..4 {
            let blocks = state.size_of(file).div_ceil(4096);
            places.extend((0..blocks).map(|block| table.places.find(file, block).unwrap()));
            assert_eq!(table.places.find(file, blocks), None);
        }

        assert!(places.into_iter().eq(0..table.places.total() as usize));
    }
}
