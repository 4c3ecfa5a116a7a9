//! Reading a stamped set as a whole: is every block what was written there?

use crate::buffer::{BufferSize, Buffers};
use crate::content::BLOCK_BYTES;
use crate::content::bad_blocks::{BadBlock, BadBlocks};
use crate::content::generations::Generations;
use crate::content::judge::Judge;
use crate::content::stamp::Stamper;
use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::places::progress::{Progress, Report, WorkGroup, threads_of};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const READ_BYTES: u64 = 1 << 20;
const PIECE_BYTES: u64 = 16 << 20;
/// What a look at a whole set found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Blocks looked at.
    pub blocks: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Those that are not right.
    pub bad: BadBlocks,
}

/// Read every existing file of a set, with as many threads as made it. `report` hears bytes.
///
/// # Errors
///
/// `Stopped`, or the system call that failed.
pub fn verify(
    state: &FileSetState,
    generations: &Generations,
    report: Report<'_>,
    stop: &AtomicBool,
) -> Result<Verified> {
    let total = state.existing_indices().map(|index| state.size_of(index)).sum();
    let (group, progress, next_piece) =
        (WorkGroup::new(stop), Progress::new(report, total, "bytes"), AtomicU64::new(0));
    let look = || {
        let failed = |error| EngineError::io("take memory to verify", state.folder(), error);
        let buffers = Buffers::new(1, BufferSize::plain(READ_BYTES as usize)).map_err(failed)?;
        let judge = state.judge(generations, Stamper::new());
        Reader { state, judge, group: &group, progress: &progress, buffers, found: Verified::default() }
            .pieces(&next_piece)
    };
    let threads = threads_of(state.set().create_workers).min(total.div_ceil(PIECE_BYTES).max(1) as usize);
    let mut all = Verified::default();
    for found in group.run(threads, look)? {
        all.blocks += found.blocks;
        all.bytes += found.bytes;
        all.bad.merge(found.bad);
    }
    progress.finish();
    Ok(all)
}

struct Reader<'a> {
    state: &'a FileSetState,
    judge: Judge<'a>,
    group: &'a WorkGroup<'a>,
    progress: &'a Progress<'a>,
    buffers: Buffers,
    found: Verified,
}

impl Reader<'_> {
    /// Pieces of all files are numbered through; each thread walks along the same numbering.
    fn pieces(mut self, next_piece: &AtomicU64) -> Result<Verified> {
        let mut piece = next_piece.fetch_add(1, Ordering::Relaxed);
        let mut first_piece = 0;
        for index in self.state.existing_indices() {
            let size = self.state.size_of(index);
            let behind = first_piece + size.div_ceil(PIECE_BYTES);
            while piece < behind {
                let from = (piece - first_piece) * PIECE_BYTES;
                self.read(index, from, (from + PIECE_BYTES).min(size))?;
                piece = next_piece.fetch_add(1, Ordering::Relaxed);
            }
            first_piece = behind;
        }
        Ok(self.found)
    }

    fn read(&mut self, index: u64, from: u64, end: u64) -> Result<()> {
        let path = self.state.path_of(index);
        let Self { judge, found, .. } = self;
        let file = match self.state.open_file(index, libc::O_RDONLY) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                judge.missing(index, from, end, |offset_bytes, kind| {
                    found.bad.add(BadBlock { path: path.clone(), offset_bytes, kind });
                });
                return Ok(());
            }
            opened => opened.map_err(|error| EngineError::io("open", &path, error))?,
        };
        let mut at = from;
        while at < end {
            self.group.check()?;
            let buffer = self.buffers.slot(0, READ_BYTES.min(end - at) as usize);
            let read = read_full(&file, buffer, at).map_err(|error| EngineError::io("read", &path, error))?;
            let mut bad = |offset_bytes, kind| found.bad.add(BadBlock { path: path.clone(), offset_bytes, kind });
            if read == 0 {
                judge.missing(index, at, end, bad);
                break;
            }
            let before = |offset| judge.generations.before_read(index, offset);
            judge.blocks(&mut buffer[..read], index, at, before, &mut bad);
            found.blocks += read.div_ceil(BLOCK_BYTES) as u64;
            found.bytes += read as u64;
            self.progress.add(read as u64);
            at += read as u64;
        }
        Ok(())
    }
}

/// Read until the buffer is full or the file ends.
fn read_full(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], at + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::CorruptionKind;
    use crate::files::fileset::tests::set;
    use crate::places::local_dir::data_folder::DataFolder;
    use crate::places::local_dir::lay_out;
    use crate::plan::{Content, Layout};

    fn laid_out(folder: &std::path::Path) -> (DataFolder, FileSetState) {
        let target = DataFolder::open(&format!("file://{}", folder.display())).unwrap();
        let mut plan = set(3, 100_000.0, Layout::Flat {});
        plan.content = Content { stamped: true, ..plan.content };
        let state = FileSetState::new(&plan, target.root(), 1).unwrap();
        lay_out::prepare(&state, &target, 0, &|_, _, _| {}, &AtomicBool::new(false)).unwrap();
        (target, state)
    }

    fn look(state: &FileSetState) -> Verified {
        let generations = state.open_generations(4096, true).unwrap();
        verify(state, &generations, &|_, _, _| {}, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn a_set_as_laid_out_is_right_to_its_last_block() {
        let folder = tempfile::tempdir().unwrap();
        let (_target, state) = laid_out(folder.path());

        let verified = look(&state);

        // 100,000 bytes are 24.4 blocks.
        assert_eq!(verified, Verified { blocks: 3 * 25, bytes: 300_000, bad: BadBlocks::default() });
    }

    #[test]
    fn what_a_file_lost_at_its_end_or_as_a_whole_was_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let (_target, state) = laid_out(folder.path());
        File::options().write(true).open(state.path_of(0)).unwrap().set_len(40_960).unwrap();
        std::fs::remove_file(state.path_of(2)).unwrap();

        let verified = look(&state);

        let (blocks, first) = &verified.bad.by_kind[&CorruptionKind::NeverWritten];
        assert_eq!((*blocks, verified.bad.by_kind.len()), (15 + 25, 1));
        assert!(first.offset_bytes == 40_960 || first.path == state.path_of(2), "{first:?}");
    }
}
