//! A file set while it is in use: which files exist, how large each is and where.
//!
//! Indices hold which files exist ([`Indices`]); all else follows from the index by rules.
//!
//! Names are a ring: index `i` has the name, place and laid-out size of `i modulo files`. At no time more than `files`
//! indices exist, so a name is free again once its file was deleted, and loads that create, rename or link can run for
//! as long as they delete too. What is in a file follows it: a file that was renamed or linked keeps its length and
//! its bytes, whatever the rules give for its new name.

use crate::content::generations::{Generations, OfSet, Sizes};
use crate::content::judge::Judge;
use crate::content::stamp::Stamper;
use crate::draw::mix::mix;
use crate::draw::sizes::Sampler;
use crate::error::{EngineError, Result};
use crate::files::indices::Indices;
use crate::files::names::{NumberedName, PathBuffer};
use crate::files::root::Root;
use crate::files::spread::Spread;
use crate::plan::{Allocate, FileSet};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const LONGEST_PATH_BYTES: usize = 4095;

/// A file set in use, shared by all workers.
#[derive(Debug)]
pub struct FileSetState {
    set: FileSet,
    /// Client whose files these are; empty where there is nobody else.
    owner: String,
    /// Of all sets of this process.
    number: u64,
    plan_seed: u64,
    own_seed: u64,
    root: Arc<Root>,
    folder: PathBuf,
    /// Whether its one file is a block device, which lies in no folder of the set's.
    is_device: bool,
    files: NumberedName,
    directories: NumberedName,
    spread: Spread,
    sizes: Sampler,
    indices: Indices,
    writers: AtomicU64,
    generations: Mutex<Option<Arc<Generations>>>,
    is_begun: AtomicBool,
}

impl FileSetState {
    /// A set in a data folder, by rules alone; nothing exists until it was prepared.
    ///
    /// # Errors
    ///
    /// A Plan error for rules that cannot be followed.
    pub fn new(set: &FileSet, root: &Arc<Root>, seed: u64) -> Result<Self> {
        Self::of_owner(set, root, seed, "")
    }

    /// As `new`, with the files of one client in a folder in which others have theirs; `owner` is empty where there are none.
    ///
    /// # Errors
    ///
    /// A Plan error for rules that cannot be followed.
    pub fn of_owner(set: &FileSet, root: &Arc<Root>, seed: u64, owner: &str) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let spread = Spread::new(&set.name, &set.layout, set.files)?;
        check_counts(set)?;
        let state = Self {
            plan_seed: seed,
            own_seed: set.name.bytes().fold(mix(seed), |hash, byte| mix(hash ^ u64::from(byte))),
            root: Arc::clone(root),
            folder: root.path().join(folder_name(set)?),
            is_device: false,
            files: names_of(set, owner)?,
            owner: owner.to_owned(),
            directories: NumberedName::of_directories(spread.width()),
            sizes: Sampler::new(&set.size)?,
            spread,
            indices: Indices::none_of(set.files).map_err(EngineError::no_shared_memory)?,
            writers: AtomicU64::new(0),
            generations: Mutex::new(None),
            is_begun: AtomicBool::new(false),
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            set: set.clone(),
        };
        let longest = state.path_of(set.files - 1).as_os_str().len();
        if longest > LONGEST_PATH_BYTES {
            let why = format!("its paths have {longest} bytes, the kernel takes {LONGEST_PATH_BYTES}");
            return Err(EngineError::Plan(format!("file set '{}': {why}; make the tree less deep", set.name)));
        }
        Ok(state)
    }

    /// A set whose one file is the block device `name` in `root`.
    ///
    /// # Errors
    ///
    /// A Plan error for rules that cannot be followed.
    pub fn on_device(set: &FileSet, root: &Arc<Root>, seed: u64, name: &str) -> Result<Self> {
        let state = Self::new(&FileSet { file_name: name.to_owned(), ..set.clone() }, root, seed)?;
        Ok(Self { folder: root.path().to_owned(), is_device: true, ..state })
    }

    /// Whether its one file is a block device: it is there whatever is done, and has no name that could be given or taken.
    pub fn is_device(&self) -> bool {
        self.is_device
    }

    /// The set as in the Plan.
    pub fn set(&self) -> &FileSet {
        &self.set
    }

    /// Seed of the Plan.
    pub fn plan_seed(&self) -> u64 {
        self.plan_seed
    }

    /// Seed of this set's sizes and content: two sets of one Plan never hold the same bytes.
    pub fn content_seed(&self) -> u64 {
        self.own_seed
    }

    /// Folder of the set, for messages and programs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The data folder that it lies in.
    pub fn root(&self) -> &Arc<Root> {
        &self.root
    }

    /// Name of its folder in the data folder.
    pub fn folder_name(&self) -> CString {
        CString::new(self.set.path.as_str()).expect("looked at when the set was made")
    }

    /// Open its folder.
    ///
    /// # Errors
    ///
    /// As open(2); ELOOP for a symbolic link, ENOTDIR for a set that is a device.
    pub fn open_folder(&self) -> io::Result<OwnedFd> {
        if self.is_device {
            return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
        }
        self.root.open(&self.folder_name(), libc::O_RDONLY | libc::O_DIRECTORY, 0)
    }

    /// Open a file that is there, with flags of open(2).
    ///
    /// # Errors
    ///
    /// As open(2); ELOOP where a symbolic link is on the way.
    pub fn open_file(&self, index: u64, flags: i32) -> io::Result<File> {
        let mut path = PathBuffer::new();
        self.path_into(index, &mut path);
        self.root.open(path.at().path, flags, 0).map(File::from)
    }

    /// Whether other clients have files of their own in its folder.
    pub fn is_joint(&self) -> bool {
        !self.owner.is_empty()
    }

    /// Number of indices.
    pub fn files(&self) -> u64 {
        self.set.files
    }

    /// Which directory holds which file.
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// Files that exist after `prepare`: indices from 0 to this.
    pub fn initial_files(&self) -> u64 {
        ((self.set.files as f64 * self.set.existing_share).round() as u64).min(self.set.files)
    }

    /// Which indices exist, for workers that change that.
    #[inline]
    pub fn indices(&self) -> &Indices {
        &self.indices
    }

    /// Places of the indices that exist now, the oldest first.
    #[inline]
    pub fn existing(&self) -> Range<u64> {
        self.indices.existing()
    }

    /// The index at one of these places. `None` is possible only while workers run, and where one was killed.
    #[inline]
    pub fn index_at(&self, place: u64) -> Option<u64> {
        self.indices.at(place)
    }

    /// Indices that exist. Only while no worker runs.
    pub fn existing_indices(&self) -> impl Iterator<Item = u64> {
        self.existing().filter_map(|place| self.index_at(place))
    }

    /// The files of `prepare` exist. Only while no worker runs.
    pub(crate) fn begin_with_initial(&self) {
        self.indices.begin_with(self.initial_files());
    }

    /// Nothing exists any more. Only while no worker runs.
    pub fn forget_all(&self) {
        self.indices.begin_with(0);
    }

    /// Whether bringing the set into place has changed what is in its folder: what is there is this run's then.
    pub fn is_begun(&self) -> bool {
        self.is_begun.load(Ordering::Relaxed)
    }

    /// Note whether it has.
    pub fn set_begun(&self, is_begun: bool) {
        self.is_begun.store(is_begun, Ordering::Relaxed);
    }

    /// A number that no other writer of the set's first content has.
    pub fn next_writer(&self) -> u64 {
        self.writers.fetch_add(1, Ordering::Relaxed)
    }

    /// How often each block was written; None for sets without stamps, and before the set is in place.
    pub fn generations(&self) -> Option<Arc<Generations>> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Know or forget how often each block was written. Only while no worker runs.
    pub fn set_generations(&self, generations: Option<Generations>) {
        *self.generations.lock().unwrap_or_else(PoisonError::into_inner) = generations.map(Arc::new);
    }

    /// How often each block was written, as far as that is known. Only while no worker runs.
    ///
    /// # Errors
    ///
    /// The system call that failed.
    pub fn open_generations(&self, unit_bytes: u64, laid_out_anew: bool) -> Result<Generations> {
        let sizes = Sizes { files: self.files(), fixed: self.fixed_size(), size_of: &|index| self.size_of(index) };
        let failed = |error| EngineError::io("open", self.folder(), error);
        let folder = self.open_folder().map_err(failed)?;
        let set = OfSet { path: self.folder(), folder, content_seed: self.own_seed, sizes };
        Generations::open(set, unit_bytes, laid_out_anew)
    }

    /// What shows whether blocks of the set are as they were written.
    pub fn judge<'a>(&self, generations: &'a Generations, stamper: Stamper) -> Judge<'a> {
        let written_files = if self.set.allocate == Allocate::Write { self.initial_files() } else { 0 };
        Judge { seed: self.own_seed, written_files, generations, stamper }
    }

    /// Size of a file in bytes as it is laid out; the same in every run with the same seed.
    #[inline]
    pub fn size_of(&self, index: u64) -> u64 {
        match self.sizes.is_fixed() {
            Some(size) => size,
            None => {
                let seed = mix(self.own_seed ^ mix(self.name_of(index)));
                self.sizes.sample_u64(&mut fastrand::Rng::with_seed(seed))
            }
        }
    }

    /// The number in the name of an index: names are a ring.
    #[inline]
    fn name_of(&self, index: u64) -> u64 {
        if index < self.set.files { index } else { index % self.set.files }
    }

    /// Size of every file, if all are equal.
    pub fn fixed_size(&self) -> Option<u64> {
        self.sizes.is_fixed()
    }

    /// Path of a file, without allocation.
    #[inline]
    pub fn path_into(&self, index: u64, buffer: &mut PathBuffer) {
        let index = self.name_of(index);
        let leaf = self.spread.leaf_of(index);
        if !buffer.begin_again(self.number, leaf) {
            self.push_directory(self.spread.depth(), leaf, buffer);
            buffer.push(b"/");
            buffer.note_directory(self.number, leaf);
        }
        self.files.push_into(index, buffer);
        buffer.finish();
    }

    /// Path of a directory of the set: number `number` of a level.
    pub fn directory_path_into(&self, level: u32, number: u64, buffer: &mut PathBuffer) {
        self.push_directory(level, number, buffer);
        buffer.finish();
    }

    /// Path of a file, for messages.
    pub fn path_of(&self, index: u64) -> PathBuf {
        let mut buffer = PathBuffer::new();
        self.path_into(index, &mut buffer);
        buffer.to_path()
    }

    /// Names of files.
    pub fn file_names(&self) -> &NumberedName {
        &self.files
    }

    /// Names of directories.
    pub fn directory_names(&self) -> &NumberedName {
        &self.directories
    }

    fn push_directory(&self, level: u32, number: u64, buffer: &mut PathBuffer) {
        buffer.begin(&self.root, self.folder.as_os_str().as_bytes());
        for turn in self.spread.turns(level, number) {
            buffer.push(b"/");
            self.directories.push_into(turn, buffer);
        }
    }
}

fn names_of(set: &FileSet, owner: &str) -> Result<NumberedName> {
    let names = NumberedName::of_files(&set.name, &set.file_name, set.files)?;
    if owner.is_empty() { Ok(names) } else { names.of_owner(&set.name, owner) }
}

fn check_counts(set: &FileSet) -> Result<()> {
    if set.files == 0 {
        return Err(EngineError::Plan(format!("file set '{}': files is 0; it must be 1 or more", set.name)));
    }
    if !(0.0..=1.0).contains(&set.existing_share) {
        let (name, share) = (&set.name, set.existing_share);
        return Err(EngineError::Plan(format!(
            "file set '{name}': existing_share is {share}; it lies between 0 and 1"
        )));
    }
    Ok(())
}

/// The one plain name of a set's folder: nothing that leads out of the data folder, nothing that is Assay's own.
fn folder_name(set: &FileSet) -> Result<&str> {
    let mut parts = Path::new(&set.path).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None)
            if name == set.path.as_str() && !set.path.starts_with('.') && !set.path.contains('\0') =>
        {
            Ok(&set.path)
        }
        _ => Err(EngineError::Plan(format!(
            "file set '{}': path '{}' must be one plain name inside the data folder, without '/' and not starting \
             with a dot",
            set.name, set.path
        ))),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::{Distribution, Layout};

    pub(crate) fn set(files: u64, size: f64, layout: Layout) -> FileSet {
        FileSet::plain("data", "here", files, size, layout)
    }

    fn state(set: &FileSet) -> FileSetState {
        FileSetState::new(set, &Root::nowhere("/mnt/x/assay-data"), 1).unwrap()
    }

    #[test]
    fn a_path_that_is_built_after_another_is_as_if_it_was_the_first() {
        let of = |path: &str| FileSet { path: path.to_owned(), ..set(20, 0.0, Layout::PerDirectory { files: 3 }) };
        let states = ["one", "two"].map(|path| state(&of(path)));
        let folder = Path::new("/mnt/x/assay-data");
        let mut buffer = PathBuffer::new();
        for turn in [0_u64, 1, 2, 3, 3, 4, 19, 5, 0] {
            for (name, state) in ["one", "two"].into_iter().zip(&states) {
                for index in [turn, turn, (turn + 1) % 20] {
                    state.path_into(index, &mut buffer);
                    let expected = format!("{name}/d{:08}/f{index:08}", index / 3);
                    assert_eq!(buffer.to_path(), folder.join(expected));
                }
            }
            states[0].directory_path_into(1, turn / 3, &mut buffer);
            assert_eq!(buffer.to_path(), folder.join(format!("one/d{:08}", turn / 3)));
        }
    }

    #[test]
    fn paths_follow_the_layout() {
        let flat = state(&set(10, 0.0, Layout::Flat {}));
        let per_directory = state(&set(100_000, 0.0, Layout::PerDirectory { files: 1000 }));
        let tree = state(&set(1000, 0.0, Layout::Tree { width: 10, depth: 2 }));

        assert_eq!(flat.path_of(7).to_str(), Some("/mnt/x/assay-data/data/f00000007"));
        assert_eq!(per_directory.path_of(12_345).to_str(), Some("/mnt/x/assay-data/data/d00000012/f00012345"));
        assert_eq!(tree.path_of(407).to_str(), Some("/mnt/x/assay-data/data/d00000004/d00000000/f00000407"));
    }

    #[test]
    fn a_longer_path_leaves_nothing_behind_in_the_buffer() {
        let deep = state(&set(1000, 0.0, Layout::Tree { width: 10, depth: 3 }));
        let flat = state(&set(10, 0.0, Layout::Flat {}));
        let mut buffer = PathBuffer::new();

        deep.path_into(999, &mut buffer);
        flat.path_into(1, &mut buffer);

        assert_eq!(buffer.as_cstr(), c"/mnt/x/assay-data/data/f00000001");
    }

    #[test]
    fn sizes_depend_on_seed_set_and_index_and_on_nothing_else() {
        let mut plan = set(1000, 0.0, Layout::Flat {});
        plan.size = Distribution::Uniform { min: 0.0, max: 1e9 };
        let sizes = |plan: &FileSet, seed| {
            let state = FileSetState::new(plan, &Root::nowhere("/x"), seed).unwrap();
            (0..100).map(|index| state.size_of(index)).collect::<Vec<_>>()
        };
        let mut renamed = plan.clone();
        renamed.name = "other".to_owned();

        assert_eq!(sizes(&plan, 1), sizes(&plan, 1));
        assert_ne!(sizes(&plan, 1), sizes(&plan, 2));
        assert_ne!(sizes(&plan, 1), sizes(&renamed, 1));
        assert_ne!(sizes(&plan, 1)[0], sizes(&plan, 1)[1]);
    }

    #[test]
    fn names_are_a_ring() {
        let mut plan = set(4, 0.0, Layout::Flat {});
        plan.existing_share = 0.75;
        let state = state(&plan);
        state.begin_with_initial();

        let (from, to) = state.indices().take_move().unwrap();
        state.indices().gone(from);

        assert_eq!((from, to), (0, 3));
        assert_eq!(state.indices().take_new(), Ok(4));
        assert_eq!(state.path_of(4), state.path_of(0));
        assert_ne!(state.path_of(from), state.path_of(to));
    }

    #[test]
    fn folders_outside_the_data_folder_are_refused() {
        for path in ["", ".", "..", "/etc", "a/b", "../x", ".lock", "a/"] {
            let mut plan = set(1, 0.0, Layout::Flat {});
            plan.path = path.to_owned();
            let refused = FileSetState::new(&plan, &Root::nowhere("/x"), 1);
            assert!(matches!(refused, Err(EngineError::Plan(_))), "{path}");
        }
    }

    #[test]
    fn a_tree_too_deep_for_a_path_is_refused() {
        let refused = FileSetState::new(&set(1, 0.0, Layout::Tree { width: 1, depth: 500 }), &Root::nowhere("/x"), 1);

        assert!(refused.unwrap_err().to_string().contains("make the tree less deep"));
    }
}
