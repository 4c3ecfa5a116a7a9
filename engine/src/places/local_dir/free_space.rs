//! Whether a file set fits, before the first byte is written.

use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::places::local_dir::data_folder::DataFolder;
use crate::plan::Allocate;
use crate::units::bytes_text;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What a set takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Sum of the sizes of the files that `prepare` makes.
    pub content_bytes: u64,
    /// The same in whole blocks of the file system, with a block for each directory.
    pub storage_bytes: u64,
    /// Files and directories.
    pub inodes: u64,
}

/// What the files that `prepare` makes will take. Where each has a size of its own, millions of them take seconds.
///
/// # Errors
///
/// `Stopped`.
pub fn need(state: &FileSetState, block_bytes: u64, stop: &AtomicBool) -> Result<Need> {
    let files = state.initial_files();
    let block_bytes = block_bytes.max(1);
    let blocks = |size: u64| size.div_ceil(block_bytes).saturating_mul(block_bytes);
    let (content_bytes, file_bytes) = match state.fixed_size() {
        Some(size) => (size.saturating_mul(files), blocks(size).saturating_mul(files)),
        None => {
            let (mut content, mut storage) = (0_u64, 0_u64);
            for index in 0..files {
                if stop.load(Relaxed) {
                    return Err(EngineError::Stopped);
                }
                let size = state.size_of(index);
                (content, storage) = (content.saturating_add(size), storage.saturating_add(blocks(size)));
            }
            (content, storage)
        }
    };
    let directories = state.spread().directories() + 1;
    let file_bytes = if state.set().allocate == Allocate::Sparse { 0 } else { file_bytes };
    Ok(Need {
        content_bytes,
        storage_bytes: file_bytes.saturating_add(directories.saturating_mul(block_bytes)),
        inodes: files + directories + 1,
    })
}

/// Refuse what does not fit above the reserve.
///
/// # Errors
///
/// An environment error with both numbers and what to do.
pub fn check(state: &FileSetState, need: Need, target: &DataFolder, reserve_bytes: u64) -> Result<()> {
    let (set, place) = (&state.set().name, target.directory().display());
    let beside = target.free_bytes()?.saturating_sub(reserve_bytes);
    if need.storage_bytes > beside {
        return Err(EngineError::Environment(format!(
            "file set '{set}' needs {}, but only {} are free on {place} above the reserve of {}; {}",
            bytes_text(need.storage_bytes),
            bytes_text(beside),
            bytes_text(reserve_bytes),
            cure(beside)
        )));
    }
    match target.free_inodes()? {
        Some(free) if need.inodes > free => Err(EngineError::Environment(format!(
            "file set '{set}' needs {} inodes, but only {free} are free on {place}; choose fewer files",
            need.inodes
        ))),
        _ => Ok(()),
    }
}

/// The largest round size that fits, with a little room for what the file system itself needs.
fn cure(beside_bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match beside_bytes / 100 * 99 / MIB {
        0 => "free some space or choose another directory".to_owned(),
        mib if mib >= 1024 => format!("at most {} GiB fit: use less, or free some space", mib / 1024),
        mib => format!("at most {mib} MiB fit: use less, or free some space"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fileset::tests::set;
    use crate::files::root::Root;
    use crate::plan::{Distribution, Layout};

    #[test]
    fn small_files_need_whole_blocks_and_their_directories() {
        let state =
            FileSetState::new(&set(250, 100.0, Layout::PerDirectory { files: 100 }), &Root::nowhere("/x"), 1).unwrap();

        let need = need(&state, 4096, &AtomicBool::new(false)).unwrap();

        assert_eq!(need, Need { content_bytes: 25_000, storage_bytes: (250 + 4) * 4096, inodes: 250 + 4 + 1 });
    }

    #[test]
    fn drawn_sizes_are_summed_as_they_will_be_laid_out() {
        let mut plan = set(1000, 0.0, Layout::Flat {});
        plan.size = Distribution::Exponential { mean: 10_000.0 };
        plan.existing_share = 0.5;
        let state = FileSetState::new(&plan, &Root::nowhere("/x"), 1).unwrap();

        let found = need(&state, 512, &AtomicBool::new(false)).unwrap();

        assert_eq!(found.content_bytes, (0..500).map(|index| state.size_of(index)).sum::<u64>());
    }

    #[test]
    fn a_stop_is_heard_while_sizes_are_summed() {
        let mut plan = set(1000, 0.0, Layout::Flat {});
        plan.size = Distribution::Exponential { mean: 10_000.0 };
        let state = FileSetState::new(&plan, &Root::nowhere("/x"), 1).unwrap();

        assert!(matches!(need(&state, 512, &AtomicBool::new(true)), Err(EngineError::Stopped)));
    }

    #[test]
    fn holes_need_no_space() {
        let mut plan = set(1, 1e12, Layout::Flat {});
        plan.allocate = Allocate::Sparse;
        let state = FileSetState::new(&plan, &Root::nowhere("/x"), 1).unwrap();

        assert_eq!(need(&state, 4096, &AtomicBool::new(false)).unwrap().storage_bytes, 4096);
    }
}
