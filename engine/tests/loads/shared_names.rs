//! Many workers on few names: what one makes or removes, no other is given before the call has returned.

use crate::harness::{Place, act, fixed, job, on_set, on_slot, passes, set};
use assay_engine::plan::{Action, Distribution, FileRef, Job, OpKind, Pick, WorkerKind};

const WORKERS: u32 = 8;
const PASSES: u64 = 3000;

fn by(workers: u32, kind: WorkerKind, job: Job) -> Job {
    Job { workers, kind, ..job }
}

/// Make a file and remove one.
fn churn() -> Vec<Action> {
    vec![
        act(on_set(OpKind::Create, "create", 0.0, Some(0))),
        act(on_slot(OpKind::Close, "close", 0.0)),
        act(on_set(OpKind::Unlink, "unlink", 0.0, None)),
    ]
}

fn at_random(kind: OpKind, name: &str) -> Action {
    let distribution = Distribution::Uniform { min: 0.0, max: 1.0 };
    let mut op = on_set(kind, name, 0.0, None);
    op.file = FileRef::Set { set: "data".to_owned(), pick: Pick::Random { distribution }, slot: None };
    op.size = fixed(16.0);
    act(op)
}

/// As many names as workers: each of them is nearly always in somebody's hands.
#[test]
fn workers_that_make_and_remove_few_names_never_meet_at_one() {
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let place = Place::new();
        let jobs = vec![by(WORKERS, kind, job("churn", churn(), passes(PASSES)))];

        let outcome = place.run(set(u64::from(WORKERS), 0.0, 0.0), jobs);

        outcome.check_clean();
        let wanted = u64::from(WORKERS) * PASSES;
        assert_eq!((outcome.ops("create"), outcome.ops("unlink")), (wanted, wanted));
        assert_eq!(place.names(), [0_u64; 0]);
    }
}

#[test]
fn directories_that_come_and_go_are_met_by_one_worker_at_a_time() {
    let place = Place::new();
    let actions = vec![act(on_set(OpKind::Mkdir, "mkdir", 0.0, None)), act(on_set(OpKind::Rmdir, "rmdir", 0.0, None))];

    let outcome = place.run(
        set(u64::from(WORKERS), 0.0, 0.0),
        vec![by(WORKERS, WorkerKind::Thread, job("directories", actions, passes(PASSES / 2)))],
    );

    assert_eq!(outcome.check_clean().ops("rmdir"), u64::from(WORKERS) * PASSES / 2);
}

/// Renaming keeps the count, a link that is removed again as well: 12 files and 8 links are at most 20 names of 24.
#[test]
fn files_that_move_and_get_further_names_are_met_by_one_worker_at_a_time() {
    let place = Place::new();
    let moves = vec![act(on_set(OpKind::Rename, "rename", 0.0, None))];
    let links = vec![at_random(OpKind::Link, "link"), act(on_set(OpKind::Unlink, "unlink", 0.0, None))];
    let copies = vec![at_random(OpKind::Copy, "copy"), act(on_set(OpKind::Unlink, "unlink", 0.0, None))];
    let jobs = vec![
        by(3, WorkerKind::Thread, job("moves", moves, passes(PASSES))),
        by(3, WorkerKind::Thread, job("links", links, passes(PASSES))),
        by(2, WorkerKind::Process, job("copies", copies, passes(PASSES))),
    ];

    let outcome = place.run(set(24, 0.5, 100.0), jobs);

    outcome.check_clean();
    assert_eq!((outcome.ops("rename"), outcome.ops("link"), outcome.ops("copy")), (9000, 9000, 6000));
    assert_eq!(place.names().len(), 12);
}

#[test]
fn a_file_that_one_worker_looks_up_is_not_removed_by_another_before_it_was_found() {
    let place = Place::new();
    let looks = vec![
        at_random(OpKind::Stat, "stat"),
        at_random(OpKind::Open, "open"),
        at_random(OpKind::Truncate, "truncate"),
        at_random(OpKind::Chmod, "chmod"),
    ];
    let jobs = vec![
        by(4, WorkerKind::Thread, job("churn", churn(), passes(PASSES))),
        by(4, WorkerKind::Thread, job("looks", looks, passes(PASSES))),
    ];

    let outcome = place.run(set(12, 0.5, 100.0), jobs);

    outcome.check_clean();
    assert_eq!((outcome.ops("stat"), outcome.ops("open"), outcome.ops("unlink")), (12_000, 12_000, 12_000));
    assert_eq!(place.names().len(), 6);
}

/// The engine may have 64 files open, so some of 70 creates fail with EMFILE.
#[test]
fn a_name_whose_create_failed_is_free_as_before() {
    let place = Place::new();
    let mut actions: Vec<_> = (0..70).map(|slot| act(on_set(OpKind::Create, "create", 0.0, Some(slot)))).collect();
    let looks = vec![act(on_set(OpKind::Stat, "stat", 0.0, None))];
    actions.push(Action::Repeat { times: 100, actions: looks });
    let removals = vec![act(on_set(OpKind::Unlink, "unlink", 0.0, None))];
    actions.push(Action::Repeat { times: 100, actions: removals });

    let outcome = place.one(set(80, 0.0, 0.0), actions, passes(1));

    let (made, failed) = (outcome.ops("create"), outcome.sum("create", "errors"));
    assert_eq!((made + failed, outcome.finished()["errors"].as_array().unwrap().len()), (70, 1));
    assert_eq!(outcome.finished()["errors"][0]["errno"], libc::EMFILE);
    assert_eq!((outcome.ops("stat"), outcome.ops("unlink"), outcome.stopped_by()), (100, made, "exhausted"));
    assert_eq!(place.names(), [0_u64; 0]);
}
