//! The files that a job's workers hold open before the start, and what their flags really became.

use crate::backend::abilities::DirectIo;
use crate::backend::store::{Handle, Store};
use crate::emit::Emitter;
use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;
use crate::plan::{Access, Direct, Job, OpenFlags, Region};
use crate::program::op::{OpNode, OpenedSet, Program};
use crate::sys::advice::Advice;
use crate::sys::posix;
use crate::warning_id::WarningId;
use std::io;
use std::os::fd::AsFd;

/// Most files that one worker holds open; larger sets are opened and closed in the loop.
const MOST_OPEN_FILES: u64 = 1024;

/// An open file of a set.
#[derive(Debug, Clone, Copy)]
pub struct OpenFile {
    /// How its backend knows it.
    pub handle: Handle,
    /// Index in its set.
    pub index: u64,
    /// Size at opening.
    pub bytes: u64,
}

/// What a job opens its files with.
#[derive(Debug, Clone, Copy)]
pub struct ResolvedFlags {
    /// Flags of open(2) without the access mode.
    pub flags: i32,
    /// Whether O_DIRECT is among them.
    pub direct: bool,
    /// What offsets and sizes must be multiples of then; 1 without O_DIRECT.
    pub alignment_bytes: u64,
    /// Advice for each file.
    pub advice: Option<Advice>,
}

/// Flags as asked for, with O_DIRECT tried out on the first file. `phase_index` is for the warning where it is refused.
pub fn resolve_flags(
    job: &Job,
    program: &Program,
    sets: &[std::sync::Arc<FileSetState>],
    emitter: &Emitter,
    phase_index: u32,
) -> Result<ResolvedFlags> {
    let flags = plain_flags(&job.open);
    let buffered = ResolvedFlags { flags, direct: false, alignment_bytes: 1, advice: Advice::named(&job.open.advice) };
    if job.open.direct == Direct::Off {
        return Ok(buffered);
    }
    let mut alignment_bytes = 1;
    for opened in &program.opened {
        let state = &sets[opened.set];
        if let Some(reason) = direct_refused(state, job, program, &mut alignment_bytes)? {
            if job.open.direct == Direct::On {
                return Err(EngineError::Environment(format!(
                    "job '{}': O_DIRECT is not possible on {}: {reason}. Set direct to 'off' or 'if_supported'",
                    job.name,
                    state.path_of(first_of(state)).display()
                )));
            }
            emitter.warn(
                Some(phase_index),
                WarningId::DirectRefused,
                format!("{}: O_DIRECT is not possible here ({reason}); the job ran through the page cache", job.name),
            );
            return Ok(buffered);
        }
    }
    Ok(ResolvedFlags { flags: flags | libc::O_DIRECT, direct: true, alignment_bytes, ..buffered })
}

fn plain_flags(open: &OpenFlags) -> i32 {
    let mut flags = libc::O_CLOEXEC;
    if open.append {
        flags |= libc::O_APPEND;
    }
    if open.sync {
        flags |= libc::O_SYNC;
    }
    if open.dsync {
        flags |= libc::O_DSYNC;
    }
    if open.no_access_time {
        flags |= libc::O_NOATIME;
    }
    flags
}

/// Why O_DIRECT with this program's sizes is not possible on a file; None where it is. Raises `alignment_bytes` to what
/// the file asks for.
fn direct_refused(
    state: &FileSetState,
    job: &Job,
    program: &Program,
    alignment_bytes: &mut u64,
) -> Result<Option<String>> {
    let can = job.backend.abilities();
    if can.direct == DirectIo::Never {
        return Ok(Some(format!("{} goes through the page cache", can.name)));
    }
    let file = match state.open_file(first_of(state), libc::O_RDONLY | libc::O_DIRECT) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            return Ok(Some("the file system does not offer it".to_owned()));
        }
        Err(error) => return Err(EngineError::io("open", state.path_of(first_of(state)), error)),
    };
    let alignment = posix::direct_alignment(file.as_fd());
    *alignment_bytes = alignment.max(*alignment_bytes);
    let misaligned = smallest_unit(program, state.fixed_size()).filter(|unit| unit % alignment != 0);
    Ok(misaligned.map(|unit| {
        format!("its offsets and sizes must be multiples of {alignment} bytes, and the load's are multiples of {unit}")
    }))
}

/// Unit that all offsets and sizes of a program are multiples of, as far as they are known beforehand.
fn smallest_unit(program: &Program, file_bytes: Option<u64>) -> Option<u64> {
    let data = program.ops().filter(|op| op.kind.rules().moves_data());
    data.flat_map(|op| units(op, file_bytes)).filter(|&unit| unit > 0).min_by_key(|unit| unit.trailing_zeros())
}

/// What an operation's offsets and sizes are multiples of.
fn units(op: &OpNode, file_bytes: Option<u64>) -> Vec<u64> {
    let size = match op.access {
        Access::Whole { chunk_bytes, .. } if chunk_bytes > 0 => Some(chunk_bytes),
        _ => op.size.is_fixed().map(|size| size / u64::from(op.vectors.max(1))),
    };
    let (region, step) = match &op.access {
        Access::Sequential { region, .. } | Access::Stream { region, .. } | Access::Backward { region, .. } => {
            (region, None)
        }
        Access::Stride { region, stride_bytes, .. } => (region, Some(*stride_bytes)),
        Access::Random { region, align_bytes, .. } => (region, Some(*align_bytes)),
        Access::Append {} | Access::Whole { .. } => (&Region::Whole {}, None),
    };
    let ends = match *region {
        Region::Range { from_bytes, length_bytes } => [Some(from_bytes), Some(length_bytes)],
        // A random or strided operation never meets the end.
        _ => [file_bytes.filter(|_| step.is_none()), None],
    };
    [size, step].into_iter().chain(ends).flatten().collect()
}

/// Open the files of one set for one worker.
pub fn open_set(
    store: &mut impl Store,
    opened: OpenedSet,
    state: &FileSetState,
    flags: ResolvedFlags,
    worker: u32,
) -> Result<Vec<OpenFile>> {
    let existing = state.existing();
    let count = existing.end - existing.start;
    if count == 0 {
        return Err(EngineError::Plan(format!(
            "the file set in {} has no files yet; a 'prepare' step comes before its use",
            state.folder().display()
        )));
    }
    let places = if opened.own {
        let own = existing.start + u64::from(worker) % count;
        own..own + 1
    } else if count > MOST_OPEN_FILES {
        return Err(EngineError::Plan(format!(
            "a worker holds at most {MOST_OPEN_FILES} files open, and the set in {} has {count}; open and close them in \
             the loop, or use pick 'own'",
            state.folder().display()
        )));
    } else {
        existing
    };
    let mode = if opened.write { libc::O_RDWR } else { libc::O_RDONLY };
    let mut indices: Vec<u64> = places.filter_map(|place| state.index_at(place)).collect();
    indices.sort_unstable();
    let mut path = PathBuffer::new();
    indices
        .into_iter()
        .map(|index| {
            state.path_into(index, &mut path);
            let error = |result: i64| io::Error::from_raw_os_error(-result as i32);
            let failed = |call, result: i64| EngineError::io(call, path.to_path(), error(result));
            let handle = store.open(path.at(), flags.flags | mode).map_err(|result| failed("open", result))?;
            match flags.advice.map_or(0, |advice| store.advise(handle, advice, 0, 0)) {
                result if result < 0 => Err(failed("advise", result)),
                _ => Ok(OpenFile { handle, index, bytes: state.size_of(index) }),
            }
        })
        .collect()
}

/// The first file of a set that is there.
fn first_of(state: &FileSetState) -> u64 {
    state.existing_indices().next().unwrap_or(0)
}
