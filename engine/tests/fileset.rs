//! File sets on a real file system: what is made, what is left alone, what is removed.

use assay_engine::backend::uri::uri_of;
use assay_engine::content::fill::ContentFill;
use assay_engine::error::{EngineError, Result};
use assay_engine::files::fileset::FileSetState;
use assay_engine::places::local_dir::data_folder::DataFolder;
use assay_engine::places::local_dir::lay_out::prepare;
use assay_engine::places::local_dir::mark::{Mark, State};
use assay_engine::places::local_dir::remove::remove;
use assay_engine::places::{self, PreparedSet, Removed};
use assay_engine::plan::{Allocate, Distribution, FileSet, Layout, Reuse};
use assay_engine::steps::cache;
use std::ffi::CString;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
static GO_ON: AtomicBool = AtomicBool::new(false);
const SEED: u64 = 20_040;

fn quiet(_: u64, _: u64, _: &str) {}

fn plain(files: u64, size_bytes: u64, layout: Layout) -> FileSet {
    FileSet::plain("data", "here", files, size_bytes as f64, layout)
}

/// A temporary directory with Assay's data folder in it.
struct Place {
    target: DataFolder,
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        Self { target: DataFolder::open(&uri_of(directory.path())).unwrap(), directory }
    }

    fn state(&self, set: &FileSet) -> FileSetState {
        FileSetState::new(set, self.target.root(), SEED).unwrap()
    }

    fn prepare(&self, set: &FileSet) -> Result<PreparedSet> {
        prepare(&self.state(set), &self.target, 0, &quiet, &GO_ON)
    }

    fn folder(&self) -> PathBuf {
        self.directory.path().join("assay-data/data")
    }

    fn mark(&self) -> std::io::Result<Option<Mark>> {
        Mark::read(fs::File::open(self.folder())?.as_fd())
    }

    fn entries(&self) -> usize {
        fs::read_dir(self.target.path())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name() != ".assay-lock")
            .count()
    }

    fn remove(&self) -> Result<Removed> {
        remove(self.target.root(), "data", &quiet, &GO_ON)
    }
}

/// Regular files below a folder, without marks.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                _ if entry.file_name() == ".assay-set.json" => {}
                _ => found.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

fn text_of(error: EngineError) -> String {
    error.to_string()
}

// -- laying out --------------------------------------------------------------------------------------------------------

#[test]
fn a_flat_set_has_the_files_sizes_and_bytes_that_it_should() {
    let place = Place::new();
    let mut set = plain(100, 5000, Layout::Flat {});
    set.existing_share = 0.75;
    let state = place.state(&set);

    let prepared = prepare(&state, &place.target, 0, &quiet, &GO_ON).unwrap();

    let files = files_below(&place.folder());
    assert_eq!((prepared.files, prepared.directories, prepared.bytes, prepared.reused), (75, 0, 75 * 5000, false));
    assert_eq!((files.len(), state.existing()), (75, 0..75));
    let mut fill = ContentFill::new(state.content_seed(), &set.content, 0).unwrap();
    for (index, path) in files.iter().enumerate() {
        assert_eq!(*path, state.path_of(index as u64));
        let mut expected = vec![0; 5000];
        fill.fill(&mut expected, index as u64, 0, 0);
        assert_eq!(fs::read(path).unwrap(), expected, "{}", path.display());
    }
}

#[test]
fn drawn_sizes_are_on_storage_as_size_of_says() {
    let place = Place::new();
    let mut set = plain(300, 0, Layout::PerDirectory { files: 40 });
    set.size = Distribution::Gamma { mean: 16_384.0, shape: 1.5, min: 0.0 };
    let state = place.state(&set);

    let prepared = prepare(&state, &place.target, 0, &quiet, &GO_ON).unwrap();

    let sizes: Vec<u64> = (0..300).map(|index| fs::metadata(state.path_of(index)).unwrap().len()).collect();
    assert!((0..300).all(|index| sizes[index as usize] == state.size_of(index)));
    assert_eq!((prepared.directories, prepared.bytes), (8, sizes.iter().sum()));
    let mean = sizes.iter().sum::<u64>() as f64 / 300.0;
    assert!((12_000.0..21_000.0).contains(&mean), "{mean}");
}

#[test]
fn a_tree_has_all_its_directories_and_files_only_in_leaves() {
    let place = Place::new();

    let prepared = place.prepare(&plain(10, 10, Layout::Tree { width: 3, depth: 2 })).unwrap();

    let files = files_below(&place.folder());
    assert_eq!((prepared.directories, files.len()), (12, 10));
    assert!(files.iter().all(|file| file.strip_prefix(place.folder()).unwrap().components().count() == 3));
}

#[test]
fn a_large_file_written_in_pieces_by_several_threads_is_one_file() {
    let place = Place::new();
    let size = 2 * 64 * MIB + 12_345;
    let mut set = plain(2, size, Layout::Flat {});
    set.create_workers = 3;
    let state = place.state(&set);
    let (last, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let report = |done: u64, total: u64, unit: &str| {
        assert_eq!((total, unit), (2 * size, "bytes"));
        last.store(done, Ordering::Relaxed);
        most.fetch_max(done, Ordering::Relaxed);
    };

    prepare(&state, &place.target, 0, &report, &GO_ON).unwrap();

    assert_eq!((last.into_inner(), most.into_inner()), (2 * size, 2 * size));
    let mut fill = ContentFill::new(state.content_seed(), &set.content, 0).unwrap();
    for index in 0..2 {
        let mut file = fs::File::open(state.path_of(index)).unwrap();
        assert_eq!(file.metadata().unwrap().len(), size);
        for offset in [0, MIB - 7, 64 * MIB - 4096, 64 * MIB, 128 * MIB - 1, size - 5000] {
            let (mut found, mut expected) = (vec![0; 5000], vec![0; 5000]);
            file.seek(SeekFrom::Start(offset)).unwrap();
            file.read_exact(&mut found).unwrap();
            fill.fill(&mut expected, index, offset, 0);
            assert_eq!(found, expected, "file {index} at {offset}");
        }
    }
}

#[test]
fn allocation_without_writing_is_what_the_kernel_says_it_is() {
    for (allocate, blocks) in [(Allocate::Fallocate, 4 * MIB / 512), (Allocate::Sparse, 0)] {
        let place = Place::new();
        let mut set = plain(2, 4 * MIB, Layout::Flat {});
        set.allocate = allocate;

        place.prepare(&set).unwrap();

        for file in files_below(&place.folder()) {
            let found = fs::metadata(file).unwrap();
            assert_eq!((found.len(), found.blocks()), (4 * MIB, blocks), "{allocate:?}");
        }
    }
}

#[test]
fn a_stop_ends_laying_out_and_what_is_there_can_be_removed() {
    let place = Place::new();
    let stop = AtomicBool::new(false);
    let set = plain(200_000, 4096, Layout::PerDirectory { files: 100 });
    let state = place.state(&set);

    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !state.path_of(0).exists() {
                std::thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
        prepare(&state, &place.target, 0, &quiet, &stop)
    });

    assert!(matches!(stopped, Err(EngineError::Stopped)));
    assert_eq!(place.mark().unwrap().unwrap().state, State::LayingOut);
    let left = files_below(&place.folder()).len() as u64;
    assert!((1..200_000).contains(&left), "{left}");
    assert_eq!(place.remove().unwrap().files, left);
    assert_eq!(place.entries(), 0);
}

// -- reuse -------------------------------------------------------------------------------------------------------------

#[test]
fn a_set_is_reused_only_while_plan_seed_and_files_are_the_same() {
    let place = Place::new();
    let mut set = plain(50, 1000, Layout::PerDirectory { files: 10 });
    set.reuse = Reuse::IfMatches;
    let reused = |set: &FileSet, seed: u64| {
        let state = FileSetState::new(set, place.target.root(), seed).unwrap();
        prepare(&state, &place.target, 0, &quiet, &GO_ON).unwrap().reused
    };
    let mut larger = set.clone();
    larger.size = Distribution::Fixed { value: 2000.0 };

    assert!(!reused(&set, 1));
    assert!(reused(&set, 1));
    assert!(!reused(&set, 2));
    assert!(!reused(&larger, 2));
    assert_eq!(files_below(&place.folder()).iter().map(|file| fs::metadata(file).unwrap().len()).max(), Some(2000));
    fs::File::options().write(true).open(place.state(&larger).path_of(0)).unwrap().set_len(1).unwrap();
    assert!(!reused(&larger, 2));
    larger.reuse = Reuse::Never;
    assert!(!reused(&larger, 2));
}

#[test]
fn a_set_that_was_cut_off_is_not_reused() {
    let place = Place::new();
    let mut set = plain(5, 1000, Layout::Flat {});
    set.reuse = Reuse::IfMatches;
    place.prepare(&set).unwrap();
    let folder = fs::File::open(place.folder()).unwrap();
    let mark = Mark::read(std::os::fd::AsFd::as_fd(&folder)).unwrap().unwrap();
    Mark { state: State::Removing, ..mark }.write(std::os::fd::AsFd::as_fd(&folder)).unwrap();

    assert!(!place.prepare(&set).unwrap().reused);
}

#[test]
fn trust_names_the_file_that_does_not_fit() {
    let place = Place::new();
    let mut set = plain(5, 1000, Layout::Flat {});
    place.prepare(&set).unwrap();
    set.reuse = Reuse::Trust;
    assert!(place.prepare(&set).unwrap().reused);
    fs::remove_file(place.state(&set).path_of(4)).unwrap();

    let text = text_of(place.prepare(&set).unwrap_err());

    assert!(text.contains("f00000004 is missing") && text.contains("if_matches"), "{text}");
}

// -- what is not Assay's own -------------------------------------------------------------------------------------------

#[test]
fn an_unmarked_folder_is_never_touched() {
    for reuse in [Reuse::Never, Reuse::IfMatches, Reuse::Trust] {
        let place = Place::new();
        fs::create_dir(place.folder()).unwrap();
        fs::write(place.folder().join("f00000000"), "thesis").unwrap();
        let mut set = plain(1, 6, Layout::Flat {});
        set.reuse = reuse;

        let text = text_of(place.prepare(&set).unwrap_err());

        assert!(text.contains("without Assay's mark"), "{text}");
        assert!(text_of(place.remove().unwrap_err()).contains("no mark of Assay"));
        assert_eq!(fs::read_to_string(place.folder().join("f00000000")).unwrap(), "thesis");
        assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 1);
    }
}

#[test]
fn a_symbolic_link_in_place_of_the_folder_is_not_followed() {
    let place = Place::new();
    let elsewhere = TempDir::new().unwrap();
    let set = plain(1, 6, Layout::Flat {});
    place.prepare(&set).unwrap();
    fs::rename(place.folder(), elsewhere.path().join("data")).unwrap();
    symlink(elsewhere.path().join("data"), place.folder()).unwrap();

    assert!(place.prepare(&set).is_err());
    assert!(place.remove().is_err());
    assert!(elsewhere.path().join("data/f00000000").exists());
}

#[test]
fn foreign_files_survive_removal_and_the_rest_goes_once_they_are_away() {
    let place = Place::new();
    let elsewhere = TempDir::new().unwrap();
    fs::write(elsewhere.path().join("f00000000"), "thesis").unwrap();
    place.prepare(&plain(100, 10, Layout::Tree { width: 2, depth: 2 })).unwrap();
    let leaf = place.folder().join("d00000001/d00000001");
    let foreign = [
        leaf.join("thesis.tex"),
        leaf.join("f00000000"),           // a name of the set, where the set never puts it
        leaf.join("f00000100"),           // beyond the set
        place.folder().join("f00000001"), // files are in leaves only
        place.folder().join("d00000000/d00000002/x"), // the third of two directories
    ];
    fs::create_dir(foreign[4].parent().unwrap()).unwrap();
    foreign.iter().for_each(|path| fs::write(path, "thesis").unwrap());
    symlink(elsewhere.path(), place.folder().join("d00000000/d00000003")).unwrap();

    let first = place.remove().unwrap();

    assert!(foreign.iter().all(|path| fs::read_to_string(path).unwrap() == "thesis"));
    assert_eq!((first.files, first.directories, first.foreign_total), (100, 3, 6));
    assert!(first.foreign.contains(&foreign[0]) && first.foreign.len() == 6, "{:?}", first.foreign);
    assert_eq!(files_below(&place.folder()).len(), 6);
    let text = text_of(place.prepare(&plain(1, 1, Layout::Flat {})).unwrap_err());
    assert!(text.contains("holds 6 entries that Assay did not make"), "{text}");

    foreign.iter().for_each(|path| fs::remove_file(path).unwrap());
    fs::remove_dir(foreign[4].parent().unwrap()).unwrap();
    fs::remove_file(place.folder().join("d00000000/d00000003")).unwrap();
    assert_eq!(place.remove().unwrap().foreign_total, 0);
    assert_eq!(place.entries(), 0);
    assert_eq!(fs::read_to_string(elsewhere.path().join("f00000000")).unwrap(), "thesis");
}

#[test]
fn at_most_twenty_foreign_entries_are_named_and_all_are_counted() {
    let place = Place::new();
    place.prepare(&plain(1, 10, Layout::Flat {})).unwrap();
    (0..50).for_each(|number| fs::write(place.folder().join(format!("note-{number}")), "").unwrap());

    let removed = place.remove().unwrap();

    assert_eq!((removed.files, removed.foreign.len(), removed.foreign_total), (1, 20, 50));
}

#[test]
fn a_mount_inside_a_set_is_not_entered() {
    let place = Place::new();
    place.prepare(&plain(20, 10, Layout::PerDirectory { files: 10 })).unwrap();
    let elsewhere = TempDir::new().unwrap();
    fs::write(elsewhere.path().join("f00000003"), "thesis").unwrap();
    // A bind mount of the same file system: the device number does not give it away.
    let Some(_mount) = Mount::bind(elsewhere.path(), &place.folder().join("d00000000")) else { return };

    let removed = place.remove().unwrap();

    assert_eq!((removed.files, removed.foreign), (10, vec![place.folder().join("d00000000")]));
    assert_eq!(fs::read_to_string(elsewhere.path().join("f00000003")).unwrap(), "thesis");
}

#[test]
fn an_unreadable_mark_protects_its_folder() {
    let place = Place::new();
    let set = plain(1, 10, Layout::Flat {});
    place.prepare(&set).unwrap();
    fs::write(place.folder().join(".assay-set.json"), "{}").unwrap();

    assert!(text_of(place.remove().unwrap_err()).contains("cannot be read"));
    assert!(text_of(place.prepare(&set).unwrap_err()).contains("cannot be read"));
    assert!(place.mark().is_err());
    assert!(place.folder().join("f00000000").exists());
}

#[test]
fn links_and_directories_that_a_load_made_under_names_of_the_set_go_with_it() {
    let place = Place::new();
    let mut set = plain(10, 10, Layout::Flat {});
    set.existing_share = 0.5;
    place.prepare(&set).unwrap();
    let state = place.state(&set);
    symlink("/etc/passwd", state.path_of(6)).unwrap();
    fs::hard_link(state.path_of(0), state.path_of(7)).unwrap();
    fs::create_dir(state.path_of(8)).unwrap();

    let removed = place.remove().unwrap();

    assert_eq!((removed.files, removed.foreign_total), (8, 0));
    assert!(Path::new("/etc/passwd").exists() && place.entries() == 0);
}

#[test]
fn many_files_in_many_directories_are_removed_without_a_rest() {
    let place = Place::new();
    let set = plain(30_000, 0, Layout::PerDirectory { files: 300 });
    assert_eq!(place.prepare(&set).unwrap().files, 30_000);

    let removed = place.remove().unwrap();

    assert_eq!((removed.files, removed.directories, removed.foreign_total), (30_000, 100, 0));
    assert_eq!(place.entries(), 0);
}

// -- the data folder ---------------------------------------------------------------------------------------------------

#[test]
fn a_second_run_is_refused_and_told_which_process_is_the_first() {
    let place = Place::new();
    let uri = uri_of(place.directory.path());

    let text = text_of(DataFolder::open(&uri).unwrap_err());

    let directory = place.directory.path().display();
    let expected = format!(
        "another Assay run (process {}) is using {directory}; wait for it, or choose another directory",
        std::process::id()
    );
    assert_eq!(text, expected);
}

#[test]
fn the_folder_goes_with_the_run_and_stays_if_it_holds_a_set() {
    let directory = TempDir::new().unwrap();
    let folder = directory.path().join("assay-data");
    DataFolder::open(&uri_of(directory.path())).unwrap().leave().unwrap();
    assert!(!folder.exists());

    let target = DataFolder::open(&uri_of(directory.path())).unwrap();
    fs::create_dir(folder.join("data")).unwrap();
    target.leave().unwrap();

    assert!(folder.join("data").exists());

    fs::remove_dir(folder.join("data")).unwrap();
    DataFolder::open(&uri_of(directory.path())).unwrap().leave().unwrap();
    assert!(!folder.exists(), "it is still known to be Assay's");
}

#[test]
fn a_folder_that_was_there_before_stays_with_all_that_is_in_it() {
    for holds in [None, Some(".lock"), Some("notes")] {
        let directory = TempDir::new().unwrap();
        let folder = directory.path().join("assay-data");
        fs::create_dir(&folder).unwrap();
        holds.iter().for_each(|name| fs::write(folder.join(name), "mine").unwrap());

        DataFolder::open(&uri_of(directory.path())).unwrap().leave().unwrap();

        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, Vec::from_iter(holds.map(std::ffi::OsString::from)));
        holds.iter().for_each(|name| assert_eq!(fs::read(folder.join(name)).unwrap(), b"mine"));
    }
}

/// Make something under a name, as another would: what is tried, and how.
type Planting = (&'static str, fn(&Path));

const PLANTED: [Planting; 5] = [
    ("a FIFO", |path| {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the path is NUL-terminated and lives through the call.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o644) }, 0);
    }),
    ("a link to a file", |path| symlink("/etc/passwd", path).unwrap()),
    ("a link to a device without an end", |path| symlink("/dev/zero", path).unwrap()),
    ("a file of 20 GB", |path| fs::File::create(path).unwrap().set_len(20_000_000_000).unwrap()),
    ("text", |path| fs::write(path, "mine").unwrap()),
];

#[test]
fn a_lock_file_that_is_not_assays_is_left_as_it_is() {
    for (what, plant) in PLANTED {
        let directory = TempDir::new().unwrap();
        let lock = directory.path().join("assay-data/.assay-lock");
        fs::create_dir(lock.parent().unwrap()).unwrap();
        plant(&lock);
        let before = fs::symlink_metadata(&lock).unwrap();

        let text = text_of(DataFolder::open(&uri_of(directory.path())).unwrap_err());

        println!("{what}: {text}");
        let after = fs::symlink_metadata(&lock).unwrap();
        assert_eq!((before.ino(), before.len(), before.mode()), (after.ino(), after.len(), after.mode()), "{what}");
    }
}

#[test]
fn a_mark_that_is_no_small_file_is_neither_waited_for_nor_read() {
    for (what, plant) in PLANTED {
        let place = Place::new();
        let set = plain(1, 10, Layout::Flat {});
        place.prepare(&set).unwrap();
        fs::remove_file(place.folder().join(".assay-set.json")).unwrap();
        plant(&place.folder().join(".assay-set.json"));

        let texts = [text_of(place.remove().unwrap_err()), text_of(place.prepare(&set).unwrap_err())];

        println!("{what}: {texts:?}");
        assert!(texts.iter().all(|text| text.contains("cannot be read")), "{what}: {texts:?}");
        assert!(place.folder().join("f00000000").exists());
    }
}

#[test]
fn folders_of_other_users_and_those_that_others_may_write_to_are_refused() {
    let directory = TempDir::new().unwrap();
    let folder = directory.path().join("assay-data");
    fs::create_dir(&folder).unwrap();
    let refused = || text_of(DataFolder::open(&uri_of(directory.path())).unwrap_err());

    for mode in [0o777, 0o1777, 0o775, 0o757] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        let text = refused();
        println!("{mode:o}: {text}");
        assert!(text.contains("can be written to by other users"), "{text}");
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    if std::os::unix::fs::chown(&folder, Some(65_534), None).is_err() {
        return eprintln!("skipped: only root gives folders away");
    }
    let text = refused();
    println!("of nobody: {text}");
    assert!(text.contains("belongs to user 65534"), "{text}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_set_of_another_user_is_not_used() {
    let place = Place::new();
    let set = FileSet { reuse: Reuse::Trust, ..plain(4, 10, Layout::Flat {}) };
    place.prepare(&set).unwrap();
    fs::set_permissions(place.folder(), fs::Permissions::from_mode(0o777)).unwrap();

    let text = text_of(place.prepare(&set).unwrap_err());

    assert!(text.contains("can be written to by other users"), "{text}");
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_written_through() {
    let place = Place::new();
    let loved = place.directory.path().join("loved");
    fs::write(&loved, "thesis").unwrap();
    let set = FileSet { reuse: Reuse::Trust, ..plain(400, 6, Layout::PerDirectory { files: 100 }) };
    place.prepare(&set).unwrap();
    let state = place.state(&set);
    for planted in [state.path_of(3), state.path_of(300).parent().unwrap().to_owned()] {
        let aside = place.directory.path().join("aside");
        fs::rename(&planted, &aside).unwrap();
        symlink(if aside.is_dir() { &aside } else { &loved }, &planted).unwrap();
        let index = if aside.is_dir() { 300 } else { 3 };

        for flags in [libc::O_RDONLY, libc::O_WRONLY, libc::O_WRONLY | libc::O_TRUNC] {
            let error = state.open_file(index, flags).unwrap_err();
            println!("{}: {error}", planted.display());
            assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
        }
        fs::remove_file(&planted).unwrap();
        fs::rename(&aside, &planted).unwrap();
    }
    assert_eq!(fs::read(&loved).unwrap(), b"thesis");
}

#[test]
fn a_folder_that_is_swapped_while_it_is_in_use_is_not_looked_at() {
    let place = Place::new();
    let elsewhere = TempDir::new().unwrap();
    let (moved, folder) = (place.directory.path().join("moved"), place.target.path().to_owned());
    fs::create_dir(elsewhere.path().join("data")).unwrap();
    fs::rename(&folder, &moved).unwrap();
    symlink(elsewhere.path(), &folder).unwrap();

    let prepared = place.prepare(&plain(20, 10, Layout::PerDirectory { files: 5 })).unwrap();

    assert_eq!((prepared.files, files_below(&moved.join("data")).len()), (20, 20));
    assert_eq!(fs::read_dir(elsewhere.path().join("data")).unwrap().count(), 0);
    assert_eq!(place.remove().unwrap().files, 20);
    assert!(elsewhere.path().join("data").exists());
}

#[test]
fn a_set_that_was_to_be_kept_gives_way_only_to_one_that_is_kept() {
    let place = Place::new();
    let kept = FileSet { keep: true, reuse: Reuse::IfMatches, ..plain(3, 10, Layout::Flat {}) };
    place.prepare(&kept).unwrap();
    let other = |keep| FileSet { keep, files: 5, ..kept.clone() };

    let text = text_of(place.prepare(&other(false)).unwrap_err());

    assert!(text.contains("was asked to keep") && text.contains("'assay clean'"), "{text}");
    assert_eq!(files_below(&place.folder()).len(), 3);
    assert!(place.prepare(&FileSet { keep: false, ..kept.clone() }).unwrap().reused, "using it is no harm");
    assert_eq!(place.prepare(&other(true)).unwrap().files, 5);
}

#[test]
fn runs_that_come_and_go_never_hold_the_folder_together() {
    let directory = TempDir::new().unwrap();
    let uri = uri_of(directory.path());
    let (inside, turns) = (AtomicU64::new(0), AtomicU64::new(0));

    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let Ok(target) = DataFolder::open(&uri) else { continue };
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    assert!(target.path().join(".assay-lock").exists());
                    inside.fetch_sub(1, Ordering::SeqCst);
                    turns.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });

    assert!(turns.into_inner() > 0);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn directories_that_cannot_serve_are_refused_with_the_reason() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a file");
    fs::write(&file, "").unwrap();
    let refused = |path: &Path| text_of(DataFolder::open(&uri_of(path)).unwrap_err());

    assert!(refused(&directory.path().join("none")).contains("does not exist"));
    assert!(refused(&file).contains("a file is a file"));
    symlink("/tmp", directory.path().join("assay-data")).unwrap();
    assert!(refused(directory.path()).contains("is there and is not a directory"));
}

#[test]
fn a_directory_of_somebody_else_is_refused_with_the_reason() {
    // SAFETY: geteuid takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        println!("skipped: root may write everywhere");
        return;
    }

    let text = text_of(DataFolder::open("file:///").unwrap_err());

    assert_eq!(text, "/ is not writable for this user; change its permissions or name another directory");
}

#[test]
fn a_read_only_file_system_is_refused_with_the_reason() {
    let Some(mount) = Mount::tmpfs("size=1m") else { return };
    mount.remount_read_only();

    let text = text_of(DataFolder::open(&uri_of(mount.path())).unwrap_err());

    assert!(text.contains("read-only file system"), "{text}");
}

// -- space -------------------------------------------------------------------------------------------------------------

#[test]
fn too_little_space_is_said_with_both_numbers_before_anything_is_written() {
    let Some(mount) = Mount::tmpfs("size=32m") else { return };
    let target = DataFolder::open(&uri_of(mount.path())).unwrap();
    let state = FileSetState::new(&plain(4, 10 * MIB, Layout::Flat {}), target.root(), 1).unwrap();

    let text = text_of(prepare(&state, &target, 8 * MIB, &quiet, &GO_ON).unwrap_err());

    assert!(text.starts_with("file set 'data' needs 40.0 MiB, but only 24.0 MiB are free on "), "{text}");
    assert!(text.ends_with("above the reserve of 8 MiB; at most 23 MiB fit: use less, or free some space"), "{text}");
    assert!(!state.folder().exists());
}

#[test]
fn a_file_system_without_any_room_is_left_as_it_is() {
    let Some(mount) = Mount::tmpfs("size=1m") else { return };
    // The folder takes no page of its own, and the file that is locked finds none.
    let filled = fs::write(mount.path().join("intruder"), vec![1; 2 * MIB as usize]);
    assert_eq!(filled.unwrap_err().raw_os_error(), Some(libc::ENOSPC));

    let error = DataFolder::open(&uri_of(mount.path())).unwrap_err();

    assert_eq!(error.errno(), Some(libc::ENOSPC));
    assert_eq!(fs::read_dir(mount.path()).unwrap().count(), 1);
}

#[test]
fn too_few_inodes_are_said_before_anything_is_written() {
    let Some(mount) = Mount::tmpfs("size=32m,nr_inodes=50") else { return };
    let target = DataFolder::open(&uri_of(mount.path())).unwrap();
    let state = FileSetState::new(&plain(100, 0, Layout::Flat {}), target.root(), 1).unwrap();

    let text = text_of(prepare(&state, &target, 0, &quiet, &GO_ON).unwrap_err());

    assert!(text.contains("needs 102 inodes") && text.contains("choose fewer files"), "{text}");
    assert!(!state.folder().exists());
}

#[test]
fn a_file_system_that_fills_up_on_the_way_ends_with_its_name_and_leaves_nothing_after_removal() {
    let Some(mount) = Mount::tmpfs("size=32m") else { return };
    let target = DataFolder::open(&uri_of(mount.path())).unwrap();
    let state = FileSetState::new(&plain(20, MIB, Layout::Flat {}), target.root(), 1).unwrap();
    let intruder = mount.path().join("intruder");
    // The check sees 20 MiB of 32; then somebody else takes 16 of them. Progress tells that it begins after the check.
    let report = |_: u64, _: u64, _: &str| {
        if !intruder.exists() {
            fs::write(&intruder, vec![1; 16 * MIB as usize]).unwrap();
        }
    };

    let error = prepare(&state, &target, 0, &report, &GO_ON).unwrap_err();

    assert_eq!(error.errno(), Some(libc::ENOSPC));
    assert!(error.to_string().contains("no space left on the device; use less data"), "{error}");
    remove(state.root(), "data", &quiet, &GO_ON).unwrap();
    fs::remove_file(&intruder).unwrap();
    drop(target);
    assert_eq!(fs::read_dir(mount.path()).unwrap().count(), 0);
}

// -- cache steps -------------------------------------------------------------------------------------------------------

#[test]
fn warming_brings_pages_in_and_evicting_takes_them_out() {
    let place = Place::new();
    let mut set = plain(8, 4 * MIB, Layout::Flat {});
    set.existing_share = 0.5;
    let state = place.state(&set);
    prepare(&state, &place.target, 0, &quiet, &GO_ON).unwrap();
    let resident = || (0..4).map(|index| resident_pages(&state.path_of(index))).sum::<u64>();

    let evicted = cache::evict(&state, &AtomicBool::new(false)).unwrap();
    let after_evict = resident();
    // The kernel may take clean pages back at any time, and does where it gives memory to a host: then once more.
    let warm = |share, pages| {
        let once = || (cache::warm(&state, share, &GO_ON, &quiet).unwrap(), resident());
        std::iter::repeat_with(once).take(10).find(|(_, found)| *found == pages)
    };

    assert_eq!(evicted, "fsync and POSIX_FADV_DONTNEED on 4 files, 16 MiB");
    assert_eq!(after_evict, 0);
    assert_eq!(warm(0.5, pages_of(8 * MIB)).unwrap().0, "read the first part of 4 files, 8 MiB");
    assert!(warm(1.0, pages_of(16 * MIB)).is_some());
}

#[test]
fn dirty_pages_of_many_small_files_are_evicted_too() {
    let place = Place::new();
    let state = place.state(&plain(200, 5000, Layout::PerDirectory { files: 50 }));
    prepare(&state, &place.target, 0, &quiet, &GO_ON).unwrap();
    (0..200).for_each(|index| fs::write(state.path_of(index), [1; 5000]).unwrap());
    let resident = || (0..200).map(|index| resident_pages(&state.path_of(index))).sum::<u64>();
    assert_eq!(resident(), 200 * pages_of(5000));

    let detail = cache::evict(&state, &AtomicBool::new(false)).unwrap();

    assert_eq!((resident(), detail.as_str()), (0, "syncfs, then POSIX_FADV_DONTNEED on 200 files, 976.6 KiB"));
}

#[test]
fn files_that_were_never_created_are_counted_not_fatal() {
    let place = Place::new();
    let state = place.state(&plain(4, 1000, Layout::Flat {}));
    prepare(&state, &place.target, 0, &quiet, &GO_ON).unwrap();
    fs::remove_file(state.path_of(2)).unwrap();

    assert!(
        cache::evict(&state, &AtomicBool::new(false)).unwrap().ends_with("3 files, 2.9 KiB; 1 files were not there")
    );
}

#[test]
fn nothing_of_a_prepared_set_is_dirty() {
    let place = Place::new();
    let state = place.state(&plain(500, 3000, Layout::Flat {}));
    prepare(&state, &place.target, 0, &quiet, &GO_ON).unwrap();

    // Dirty pages survive POSIX_FADV_DONTNEED, so without any fsync here, only clean ones go.
    for index in 0..500 {
        let file = fs::File::open(state.path_of(index)).unwrap();
        assay_engine::sys::posix::advise_not_needed(std::os::fd::AsFd::as_fd(&file)).unwrap();
    }

    assert_eq!((0..500).map(|index| resident_pages(&state.path_of(index))).sum::<u64>(), 0);
    places::Place::sync(&place.target).unwrap();
}

/// Pages that hold so many bytes of a file.
fn pages_of(bytes: u64) -> u64 {
    // SAFETY: takes and gives numbers.
    bytes.div_ceil(unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64)
}

/// Pages of a file in the page cache, by mincore(2).
fn resident_pages(path: &Path) -> u64 {
    let file = fs::File::open(path).unwrap();
    let length = file.metadata().unwrap().len() as usize;
    let mut pages = vec![0_u8; pages_of(length as u64) as usize];
    // SAFETY: the mapping is as long as the file, `pages` has a byte for each of its pages, and it is unmapped here.
    unsafe {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        let address = libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, fd, 0);
        assert_ne!(address, libc::MAP_FAILED);
        assert_eq!(libc::mincore(address, length, pages.as_mut_ptr()), 0);
        libc::munmap(address, length);
    }
    pages.iter().map(|page| u64::from(page & 1)).sum()
}

// -- mounts ------------------------------------------------------------------------------------------------------------

/// A mount that ends with its scope; `None`, with a printed reason, where this user may not mount.
struct Mount {
    point: PathBuf,
    _directory: Option<TempDir>,
}

impl Mount {
    fn tmpfs(options: &str) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let point = directory.path().to_owned();
        mount(Path::new("tmpfs"), &point, Some(c"tmpfs"), 0, options)
            .then_some(Self { point, _directory: Some(directory) })
    }

    fn bind(from: &Path, to: &Path) -> Option<Self> {
        mount(from, to, None, libc::MS_BIND, "").then(|| Self { point: to.to_owned(), _directory: None })
    }

    fn remount_read_only(&self) {
        assert!(mount(Path::new("tmpfs"), &self.point, Some(c"tmpfs"), libc::MS_REMOUNT | libc::MS_RDONLY, ""));
    }

    fn path(&self) -> &Path {
        &self.point
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let point = CString::new(self.point.to_str().unwrap()).unwrap();
        // SAFETY: `point` is NUL-terminated and lives through the call.
        unsafe { libc::umount2(point.as_ptr(), libc::MNT_DETACH) };
    }
}

fn mount(source: &Path, point: &Path, kind: Option<&std::ffi::CStr>, flags: u64, options: &str) -> bool {
    let text = |text: &str| CString::new(text).unwrap();
    let (source, point, options) = (text(source.to_str().unwrap()), text(point.to_str().unwrap()), text(options));
    let kind = kind.map_or(std::ptr::null(), std::ffi::CStr::as_ptr);
    // SAFETY: all strings are NUL-terminated and live through the call; a null kind is what a bind mount wants.
    let result = unsafe { libc::mount(source.as_ptr(), point.as_ptr(), kind, flags, options.as_ptr().cast()) };
    if result != 0 {
        println!("skipped: this test mounts a file system, and {}", std::io::Error::last_os_error());
    }
    result == 0
}
