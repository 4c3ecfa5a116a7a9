//! A block device as it is, without a file system: a set on it is one file without a name of its own, the device's first bytes.
//!
//! Reading needs nothing. What writes needs the Plan's `destroy_data`; the device is then held open exclusively for as long as
//! the run lasts (open(2), O_EXCL), which the kernel refuses where anybody has mounted it, swaps to it or has built something on
//! it, and during which it refuses that to others. Links are followed once, when it is opened; from then on names begin in the
//! open directory of its node, which nobody but root may write to. While it is open the kernel gives its number to no other.

use crate::backend::uri::Scheme;
use crate::content::fill::ContentFill;
use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::files::root::Root;
use crate::places::progress::{Progress, Report, WorkGroup, threads_of};
use crate::places::sampled_zeros::{ZeroSample, sample_zeros};
use crate::places::write_files::make_files;
use crate::places::{Place, PreparedSet, Removed};
use crate::plan::{FileSet, Reuse, Target};
use crate::sys::posix;
use crate::units::bytes_text;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How much is discarded between two looks at a stop.
const DISCARD_BYTES: u64 = 1 << 30;

/// Group and others may write.
const OTHERS_WRITE: libc::mode_t = 0o022;

/// Time after which no further block is looked at: a slow disk reads some 200 of them until then.
const SAMPLE_TIME: Duration = Duration::from_secs(2);

/// A block device, held open for this run.
#[derive(Debug)]
pub struct BlockDevice {
    /// The directory of its node.
    root: Arc<Root>,
    /// Name of its node there.
    name: String,
    /// As the user named it.
    path: PathBuf,
    device: File,
    bytes: u64,
    /// Of a logical block.
    block_bytes: u64,
}

impl BlockDevice {
    /// Open the device of a `block:` URI, alone where its data may be destroyed.
    ///
    /// # Errors
    ///
    /// An environment error where there is no such device, it is not the one that the Plan means, this user may not open it, or
    /// it is to be overwritten and in use.
    pub fn open(target: &Target) -> Result<Self> {
        let (_, path) = Scheme::of(&target.uri)?;
        let failed = |error| EngineError::io("open", &path, error);
        let unfit = |why: &str| EngineError::Environment(format!("{} {why}", path.display()));
        let node = path.canonicalize().map_err(failed)?;
        let (Some(parent), Some(name)) = (node.parent(), node.file_name()) else {
            return Err(unfit("is not a block device"));
        };
        let name = name.to_str().ok_or_else(|| unfit("has a node whose name is not UTF-8"))?.to_owned();
        let folder = open_folder(parent, &path)?;
        let flags = libc::O_RDONLY | if target.destroy_data { libc::O_EXCL } else { 0 };
        let opened = posix::open_beneath(folder.as_fd(), &posix::c_path(Path::new(&name)).map_err(failed)?, flags, 0);
        let device = File::from(opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => unfit(
                "is in use: it is mounted, swapped to, part of another device, or another program has it for itself. Nothing \
                 is written to it",
            ),
            _ => failed(error),
        })?);
        let facts = posix::fstat(device.as_fd()).map_err(failed)?;
        if facts.st_mode & libc::S_IFMT != libc::S_IFBLK {
            return Err(unfit("is not a block device"));
        }
        let number = format!("{}:{}", libc::major(facts.st_rdev), libc::minor(facts.st_rdev));
        if !target.device.is_empty() && number != target.device {
            let meant = &target.device;
            return Err(unfit(&format!("is the device {number} now, and was {meant}. Nothing is done to it")));
        }
        let bytes = posix::length_of(device.as_fd()).map_err(failed)?;
        let block_bytes = posix::logical_block_bytes(device.as_fd()).map_err(failed)?;
        let root = Arc::new(Root::new(parent.to_owned(), folder.into()));
        Ok(Self { root, name, path, device, bytes, block_bytes })
    }

    /// Look at what blocks of a set hold that was there before.
    ///
    /// A device that cannot be read past the page cache, or not at all, has no sample: the load finds out what it can do.
    fn sampled_zeros(&self, state: &FileSetState, stop: &AtomicBool) -> ZeroSample {
        let opened = posix::c_path(Path::new(&self.name))
            .and_then(|name| self.root.open(&name, libc::O_RDONLY | libc::O_DIRECT, 0));
        let Ok(device) = opened.map(File::from) else {
            return ZeroSample::default();
        };
        let (begun, alignment) = (Instant::now(), posix::direct_alignment(device.as_fd()));
        let is_over = || begun.elapsed() >= SAMPLE_TIME || stop.load(Ordering::Relaxed);
        sample_zeros(&device, state.size_of(0), alignment, state.content_seed(), is_over).unwrap_or_default()
    }

    fn failed(&self, call: &'static str) -> impl Fn(io::Error) -> EngineError {
        move |error| EngineError::io(call, &self.path, error)
    }
}

/// Open the directory of a node: whoever may write to it could put another device in its place.
fn open_folder(folder: &Path, device: &Path) -> Result<File> {
    let failed = |error| EngineError::io("open", folder, error);
    let opened = File::open(folder).map_err(failed)?;
    let facts = posix::fstat(opened.as_fd()).map_err(failed)?;
    if (facts.st_uid != 0 && facts.st_uid != posix::user()) || facts.st_mode & OTHERS_WRITE != 0 {
        return Err(EngineError::Environment(format!(
            "{}: other users can write to {}, and could put another device in its place; name the device by the node that the \
             kernel made, such as /dev/nvme0n1",
            device.display(),
            folder.display()
        )));
    }
    Ok(opened)
}

impl Place for BlockDevice {
    fn root(&self) -> &Arc<Root> {
        &self.root
    }

    fn set(&self, set: &FileSet, seed: u64, _owner: &str) -> Result<FileSetState> {
        let state = FileSetState::on_device(set, &self.root, seed, &self.name)?;
        match state.fixed_size() {
            Some(bytes) if bytes <= self.bytes => Ok(state),
            size => Err(EngineError::Environment(format!(
                "file set '{}' has {}, but {} has {}",
                set.name,
                bytes_text(size.unwrap_or(u64::MAX)),
                self.path.display(),
                bytes_text(self.bytes)
            ))),
        }
    }

    fn prepare(
        &self,
        state: &FileSetState,
        _reserve_bytes: u64,
        report: Report<'_>,
        stop: &AtomicBool,
    ) -> Result<PreparedSet> {
        let begun = Instant::now();
        ContentFill::new(state.content_seed(), &state.set().content, 0)?;
        let bytes = state.size_of(0);
        let reused = state.set().reuse == Reuse::Trust;
        let mut zeros = ZeroSample::default();
        if reused {
            zeros = self.sampled_zeros(state, stop);
        } else {
            state.forget_all();
            let group = WorkGroup::new(stop);
            let progress = Progress::new(report, bytes, "bytes");
            make_files(state, &group, &progress, threads_of(state.set().create_workers))?;
            self.sync()?;
            progress.finish();
        }
        state.begin_with_initial();
        Ok(PreparedSet { files: 1, directories: 0, bytes, seconds: begun.elapsed().as_secs_f64(), reused, zeros })
    }

    fn remove(&self, state: &FileSetState, _report: Report<'_>, _stop: &AtomicBool) -> Result<Removed> {
        // What was on the device is gone since it was written to; there is nothing to go back to.
        state.forget_all();
        Ok(Removed::default())
    }

    fn discard(&self, state: &FileSetState, report: Report<'_>, stop: &AtomicBool) -> Result<bool> {
        let name = posix::c_path(Path::new(&self.name)).map_err(self.failed("open"))?;
        let device = self.root.open(&name, libc::O_WRONLY, 0).map_err(self.failed("open"))?;
        let bytes = state.size_of(0);
        let progress = Progress::new(report, bytes, "bytes");
        for offset in (0..bytes).step_by(DISCARD_BYTES as usize) {
            if stop.load(Ordering::Relaxed) {
                return Err(EngineError::Stopped);
            }
            let length = DISCARD_BYTES.min(bytes - offset);
            match posix::discard(device.as_fd(), offset, length) {
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(false),
                result => result.map_err(self.failed("discard"))?,
            }
            progress.add(length);
        }
        self.sync()?;
        progress.finish();
        Ok(true)
    }

    fn range_unit(&self) -> Option<u64> {
        Some(self.block_bytes)
    }

    fn is_half_prepared(&self, _state: &FileSetState) -> bool {
        false
    }

    fn is_half_removed(&self, _state: &FileSetState) -> bool {
        false
    }

    fn sync(&self) -> Result<()> {
        self.device.sync_all().map_err(self.failed("fsync"))
    }

    fn is_in_memory(&self) -> bool {
        false
    }

    fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
