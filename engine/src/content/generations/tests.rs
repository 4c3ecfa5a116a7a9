use crate::content::generations::word::UNKNOWN;
use crate::content::generations::*;
use crate::files::fileset::FileSetState;
use crate::files::fileset::tests::set;
use crate::files::root::Root;
use crate::plan::{Distribution, Layout};
use std::os::fd::AsFd;

fn state(folder: &std::path::Path, size: Distribution) -> FileSetState {
    let mut plan = set(4, 0.0, Layout::Flat {});
    plan.size = size;
    std::fs::create_dir_all(folder.join("data")).unwrap();
    FileSetState::new(&plan, &Root::of(folder), 1).unwrap()
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
    let table = fixed(folder.path()).open_generations(4096, true).unwrap();

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
    let table = fixed(folder.path()).open_generations(4096, true).unwrap();

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
    let table = fixed(folder.path()).open_generations(4096, true).unwrap();

    table.begin_write(1, 0);
    table.end_write(1, 0, false);

    assert_eq!(expected(&table, 0), Expected { floor: 0, issued: 1, may_mix: true, overlapped: false });
}

#[test]
fn a_read_that_a_write_overlaps_may_find_both() {
    let folder = tempfile::tempdir().unwrap();
    let table = fixed(folder.path()).open_generations(4096, true).unwrap();

    let before = table.before_read(1, 0);
    table.begin_write(1, 0);
    table.end_write(1, 0, true);

    assert_eq!(table.expected(1, 0, before), Some(Expected { floor: 0, issued: 1, may_mix: true, overlapped: true }));
}

/// One write of a block that is done, and one that is in flight.
fn written(state: &FileSetState) -> Generations {
    let table = state.open_generations(4096, true).unwrap();
    table.begin_write(1, 0);
    table.end_write(1, 0, true);
    table.begin_write(1, 4096);
    table
}

fn check_history(state: &FileSetState) {
    let table = state.open_generations(4096, false).unwrap();

    assert!(table.is_known());
    assert_eq!(expected(&table, 0), Expected { floor: 1, issued: 1, may_mix: false, overlapped: false });
    assert_eq!(expected(&table, 4096), Expected { floor: 0, issued: 1, may_mix: true, overlapped: false });
}

#[test]
fn a_later_run_knows_what_was_acknowledged_and_what_was_in_flight() {
    let folder = tempfile::tempdir().unwrap();
    let state = fixed(folder.path());
    written(&state).keep().unwrap();

    check_history(&state);
}

#[test]
fn what_a_killed_engine_had_been_told_is_known_where_memory_has_names() {
    let folder = tempfile::tempdir().unwrap();
    let state = fixed(folder.path());
    let Some(name) = table::name_in_memory(state.open_folder().unwrap().as_fd()) else {
        return eprintln!("skipped: no /dev/shm in memory");
    };
    std::mem::forget(written(&state));
    assert!(name.exists());

    check_history(&state);

    assert!(!name.exists(), "a table that was used up stays nowhere");
}

#[test]
fn nothing_lies_on_the_storage_under_test_while_a_table_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let state = fixed(folder.path());
    let beside = state.folder().join(NAME.to_str().unwrap());
    let table = written(&state);
    assert!(!beside.exists());

    table.keep().unwrap();
    assert_eq!(beside.metadata().unwrap().len(), 4096 + 8 * 4 * 10);
    drop(table);
    let table = state.open_generations(4096, false).unwrap();

    assert!(!beside.exists(), "one beside the set is always the newest");
    std::fs::remove_dir_all(state.folder()).unwrap();
    assert_eq!(table.begin_write(1, 0), 2);
}

#[test]
fn without_a_table_that_fits_nothing_is_stale() {
    let folder = tempfile::tempdir().unwrap();
    let state = fixed(folder.path());
    state.open_generations(4096, true).unwrap().keep().unwrap();

    let table = state.open_generations(512, false).unwrap();

    assert!(!table.is_known());
    assert_eq!(expected(&table, 0), Expected { floor: 0, issued: UNKNOWN, may_mix: false, overlapped: false });
    assert_eq!(table.begin_write(1, 0), UNKNOWN + 1);
}

#[test]
fn every_block_of_files_of_any_size_has_a_place_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path(), Distribution::Uniform { min: 0.0, max: 50_000.0 });
    let table = state.open_generations(4096, true).unwrap();

    let mut places = Vec::new();
    for file in 0..4 {
        let blocks = state.size_of(file).div_ceil(4096);
        places.extend((0..blocks).map(|block| table.places.find(file, block).unwrap()));
        assert_eq!(table.places.find(file, blocks), None);
    }

    assert!(places.into_iter().eq(0..table.places.total() as usize));
}
