//! Filling a file system to a share of its size: storage at 80 % is not the storage that was delivered empty.
//!
//! The filling is a marked file set like any other, of incompressible content that occurs once, so that neither the
//! device nor `remove` takes it for something else.

use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::places::local_dir::data_folder::DataFolder;
use crate::places::local_dir::lay_out;
use crate::places::progress::Report;
use crate::plan::{FileSet, Layout};
use crate::sys::posix;
use crate::units::bytes_text;
use std::sync::atomic::AtomicBool;

/// Size of one file of the filling.
const FILE_BYTES: u64 = 1 << 30;

/// Space of a file system in bytes.
#[derive(Debug, Clone, Copy)]
struct Space {
    total: u64,
    used: u64,
    available: u64,
}

/// Fill until `used_share` of the file system is in use; what was done, in words. `target` names the set.
///
/// # Errors
///
/// A share outside [0, 1]; less than `reserve_bytes` left; whatever laying out can meet.
pub fn fill(
    target: &str,
    folder: &DataFolder,
    used_share: f64,
    reserve_bytes: u64,
    seed: u64,
    report: Report<'_>,
    stop: &AtomicBool,
) -> Result<String> {
    let before = space(folder)?;
    let wanted = (before.total as f64 * used_share) as u64;
    let missing = wanted.saturating_sub(before.used);
    if missing == 0 {
        return Ok(format!("{} of {} were in use already", bytes_text(before.used), bytes_text(before.total)));
    }
    if before.available < missing.saturating_add(reserve_bytes) {
        return Err(EngineError::Environment(format!(
            "filling {} to {:.0} % would leave {} of it, and {} are to stay free; choose a smaller share",
            folder.directory().display(),
            used_share * 100.0,
            bytes_text(before.available.saturating_sub(missing)),
            bytes_text(reserve_bytes)
        )));
    }
    let set = file_set(target, missing);
    let state = FileSetState::new(&set, folder.root(), seed)?;
    lay_out::prepare(&state, folder, reserve_bytes, report, stop)?;
    let after = space(folder)?;
    let share = after.used as f64 / after.total as f64 * 100.0;
    Ok(format!("{} written; {share:.1} % of {} are in use", bytes_text(missing), bytes_text(after.total)))
}

/// Name of the folder of a target's filling, whether or not it is there.
pub fn set_name(target: &str) -> String {
    format!("fill-{target}")
}

fn space(folder: &DataFolder) -> Result<Space> {
    let found = posix::file_system_of(folder.as_fd())
        .map_err(|error| EngineError::io("look at the file system of", folder.path(), error))?;
    let block = found.f_frsize;
    Ok(Space {
        total: found.f_blocks * block,
        used: (found.f_blocks - found.f_bfree) * block,
        available: found.f_bavail * block,
    })
}

fn file_set(target: &str, bytes: u64) -> FileSet {
    let files = bytes.div_ceil(FILE_BYTES).max(1);
    FileSet::plain(&set_name(target), target, files, (bytes / files) as f64, Layout::Flat {})
}
