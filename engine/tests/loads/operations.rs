//! Each operation against what stands in the directory afterwards.

use crate::harness::{Outcome, Place, act, fixed, job, on_set, on_slot, passes, set};
use assay_engine::plan::{
    Access, Action, Allocate, Arrival, Backend, Coverage, Distribution, Ends, FileRef, Job, OpKind, Pick, Region, Stop,
    WorkerKind,
};
use serde_json::json;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn renamed_files_move_to_free_names_and_keep_their_bytes() {
    let place = Place::new();

    let outcome = place.one(set(10, 0.3, 500.0), vec![act(on_set(OpKind::Rename, "rename", 0.0, None))], passes(25));

    // Three files go round ten names: 25 moves leave them at 25, 26 and 27 modulo 10.
    assert_eq!(outcome.check_clean().ops("rename"), 25);
    assert_eq!(place.names(), [5, 6, 7]);
    assert!([5, 6, 7].iter().all(|&index| place.path(index).metadata().unwrap().len() == 500));
}

#[test]
fn hard_links_are_further_names_of_the_same_file() {
    let place = Place::new();

    let outcome = place.one(set(6, 0.5, 100.0), vec![act(on_set(OpKind::Link, "link", 0.0, None))], Stop::default());

    outcome.check_clean();
    assert_eq!((outcome.ops("link"), outcome.stopped_by()), (3, "exhausted"));
    let inodes: Vec<_> = (0..6).map(|index| place.path(index).metadata().unwrap().ino()).collect();
    assert!(inodes[3..].iter().all(|inode| inodes[..3].contains(inode)));
}

#[test]
fn symbolic_links_lead_to_files_of_the_set() {
    let place = Place::new();

    let outcome = place.one(set(4, 0.5, 77.0), vec![act(on_set(OpKind::Symlink, "symlink", 0.0, None))], passes(2));

    outcome.check_clean();
    for index in [2, 3] {
        assert!(place.path(index).symlink_metadata().unwrap().is_symlink());
        assert_eq!(place.path(index).metadata().unwrap().len(), 77);
    }
}

#[test]
fn copies_hold_the_bytes_of_what_they_were_copied_from() {
    let place = Place::new();

    let outcome = place.one(set(4, 0.5, 70_000.0), vec![act(on_set(OpKind::Copy, "copy", 0.0, None))], passes(2));

    assert_eq!(outcome.check_clean().sum("copy", "bytes"), 140_000);
    let bytes = |index| std::fs::read(place.path(index)).unwrap();
    assert_eq!((bytes(2), bytes(3)), (bytes(0), bytes(1)));
}

#[test]
fn a_file_system_without_reflinks_is_told_once_and_in_words() {
    // /dev/shm is a tmpfs, which has none.
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return };
    let place = Place { directory };

    let outcome = place.one(set(4, 0.5, 4096.0), vec![act(on_set(OpKind::Clone, "clone", 0.0, None))], passes(2));

    let text = outcome.error().unwrap();
    assert!(text.contains("clone (the file system has no reflinks") && text.contains("copy"), "{text}");
    assert_eq!(outcome.workers()[0]["failed"], 1);
    assert_eq!(place.names(), [0, 1], "no empty file passes for a clone");
}

#[test]
fn directories_are_made_listed_and_removed_again() {
    let place = Place::new();
    let make = vec![act(on_set(OpKind::Mkdir, "mkdir", 0.0, None))];
    let actions = vec![
        Action::Repeat { times: 5, actions: make },
        act(on_set(OpKind::Rmdir, "rmdir", 0.0, None)),
        act(on_set(OpKind::Readdir, "list", 0.0, None)),
        act(on_set(OpKind::ReaddirStat, "look", 0.0, None)),
    ];

    let outcome = place.one(set(20, 0.0, 0.0), actions, passes(2));

    outcome.check_clean();
    assert_eq!((outcome.ops("mkdir"), outcome.ops("rmdir")), (10, 2));
    assert_eq!((outcome.ops("list"), outcome.ops("look")), (2, 2));
    assert_eq!(place.names(), (2..10).collect::<Vec<_>>());
    assert!((2..10).all(|index| place.path(index).is_dir()));
}

#[test]
fn lengths_modes_and_attributes_are_set_by_name_and_by_handle() {
    let place = Place::new();
    let actions = vec![
        act(on_set(OpKind::Truncate, "shorten", 100.0, None)),
        act(on_set(OpKind::Chmod, "chmod", 0.0, None)),
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        act(on_slot(OpKind::Fallocate, "allocate", 8192.0)),
        act(on_slot(OpKind::Chmod, "chmod", 0.0)),
        act(on_slot(OpKind::Stat, "stat", 0.0)),
        act(on_slot(OpKind::Fstat, "fstat", 0.0)),
        act(on_slot(OpKind::Close, "close", 0.0)),
    ];

    let outcome = place.one(set(3, 1.0, 4096.0), actions, passes(3));

    outcome.check_clean();
    assert_eq!((outcome.ops("shorten"), outcome.ops("allocate"), outcome.ops("chmod")), (3, 3, 6));
    for index in 0..3 {
        let attributes = place.path(index).metadata().unwrap();
        assert_eq!(attributes.len(), 8192);
        assert!([0o640, 0o644].contains(&(attributes.permissions().mode() & 0o777)));
    }
}

/// On the worker's own file, where `access` points.
fn placed(kind: OpKind, name: &str, access: Access) -> Action {
    let mut op = on_set(kind, name, 4096.0, None);
    op.file = FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None };
    op.access = access;
    act(op)
}

#[test]
fn lengths_grow_and_ranges_are_allocated_and_given_back_where_access_points() {
    let place = Place::new();
    let within = |from_bytes| Region::Range { from_bytes, length_bytes: 16_384 };
    let up = |from_bytes| Access::Sequential { region: within(from_bytes), wrap: true };
    let mut set = set(1, 1.0, 131_072.0);
    set.allocate = Allocate::Write;
    let actions = vec![
        placed(OpKind::TruncateAt, "length", up(65_536)),
        placed(OpKind::PunchHole, "hole", up(16_384)),
        placed(OpKind::Fallocate, "allocate", up(98_304)),
    ];

    let outcome = place.one(set, actions, passes(4));

    outcome.check_clean();
    assert_eq!((outcome.ops("length"), outcome.ops("hole"), outcome.ops("allocate")), (4, 4, 4));
    assert_eq!(outcome.sum("allocate", "bytes"), 0);
    let attributes = place.path(0).metadata().unwrap();
    // The last length is 65,536 + 3 * 4,096, and the last range ends at 98,304 + 4 * 4,096.
    assert_eq!(attributes.len(), 114_688);
    // Left are the 64 KiB of the shortest length less the hole of 16 KiB, and the last range alone: each cut took those before.
    assert_eq!(attributes.blocks() * 512, (65_536 - 16_384) + 4096);
}

#[test]
fn a_range_is_zeroed_up_to_the_end_of_its_region_and_no_byte_beside_it() {
    let place = Place::new();
    // The second of each pass is cut to 2,048 bytes.
    let region = Region::Range { from_bytes: 8192, length_bytes: 6144 };
    for kind in [OpKind::WriteZeroes, OpKind::PunchHole] {
        let zero = placed(kind, "zero", Access::Sequential { region: region.clone(), wrap: true });
        let mut set = set(1, 1.0, 65_536.0);
        set.allocate = Allocate::Write;

        let outcome = place.one(set, vec![zero], passes(4));

        outcome.check_clean();
        assert_eq!((outcome.ops("zero"), outcome.sum("zero", "bytes")), (4, 0));
        let content = std::fs::read(place.path(0)).unwrap();
        assert_eq!(content.len(), 65_536);
        assert!(content[8192..14_336].iter().all(|&byte| byte == 0), "{kind:?}");
        for beside in [&content[..8192], &content[14_336..]] {
            assert!(beside.chunks(2048).all(|part| part.iter().any(|&byte| byte != 0)), "{kind:?}");
        }
    }
}

#[test]
fn what_moves_no_data_has_no_queue() {
    for kind in [OpKind::PunchHole, OpKind::WriteZeroes, OpKind::Fstat] {
        let op = placed(kind, "op", Access::Sequential { region: Region::Whole {}, wrap: true });
        let mut deep = job("deep", vec![op], Stop { ops: Some(10), ..Stop::default() });
        (deep.backend, deep.queue_depth) = (Backend::Aio {}, 4);

        Place::new().run(set(1, 1.0, 65_536.0), vec![deep]).check_refused("needs a loop of reads, writes and flushes");
    }
}

#[test]
fn nothing_is_moved_where_there_is_no_storage() {
    let place = Place::new();
    let write = placed(OpKind::Write, "write", Access::Sequential { region: Region::Whole {}, wrap: true });
    let mut nothing = job("nothing", vec![write], Stop { ops: Some(1000), ..Stop::default() });
    (nothing.backend, nothing.queue_depth) = (Backend::Null {}, 16);
    let mut set = set(1, 1.0, 65_536.0);
    set.allocate = Allocate::Sparse;

    let outcome = place.run(set, vec![nothing]);

    assert_eq!((outcome.check_clean().ops("write"), outcome.sum("write", "bytes")), (1000, 4_096_000));
    let attributes = place.path(0).metadata().unwrap();
    assert_eq!((attributes.len(), attributes.blocks()), (65_536, 0));
}

#[test]
fn a_job_that_is_done_ends_those_of_its_team_or_all_of_the_phase() {
    for (ends, ended) in [(Ends::Nothing, [false, false]), (Ends::Team, [true, false]), (Ends::Phase, [true, true])] {
        let place = Place::new();
        let read = || vec![placed(OpKind::Read, "read", Access::Sequential { region: Region::Whole {}, wrap: true })];
        let mut first = job("first", read(), Stop { ops: Some(10), ..Stop::default() });
        (first.ends, first.team) = (ends, "team".to_owned());
        // Who is not ended does so much, and no less.
        let mut member = job("member", read(), Stop { ops: Some(2_000_000), ..Stop::default() });
        member.team = "team".to_owned();
        let stranger = job("stranger", read(), Stop { ops: Some(2_000_000), ..Stop::default() });

        let outcome = place.run(set(1, 1.0, 65_536.0), vec![first, member, stranger]);

        outcome.check_clean();
        let windows = outcome.finished()["workers"].as_array().unwrap();
        let stopped = |name: &str| {
            let window = windows.iter().find(|window| window["job"] == name).unwrap();
            window["stopped_by"] == "stonewall" && window["completed"].as_u64().unwrap() < 2_000_000
        };
        assert_eq!([stopped("member"), stopped("stranger")], ended, "{ends:?}");
    }
}

#[test]
fn a_delayed_job_begins_no_sooner_and_has_all_of_its_time() {
    let place = Place::new();
    let read = || vec![placed(OpKind::Read, "read", Access::Sequential { region: Region::Whole {}, wrap: true })];
    let of_time = || Stop { seconds: Some(0.3), ..Stop::default() };
    let now = job("now", read(), of_time());
    let mut later = job("later", read(), of_time());
    later.delay_s = 0.2;

    let outcome = place.run(set(1, 1.0, 65_536.0), vec![now, later]);

    outcome.check_clean();
    let finished = outcome.finished();
    let (start_ns, windows) = (finished["start_ns"].as_u64().unwrap(), finished["workers"].as_array().unwrap());
    let of = |name: &str, what: &str| {
        let window = windows.iter().find(|window| window["job"] == name).unwrap();
        window[what].as_u64().unwrap() - start_ns
    };
    assert!(of("later", "first_op_ns") >= 200_000_000);
    // Its own 0.3 s end at 0.5 s: the last operation ends by then or a little after, never before what a stall takes.
    assert!(of("later", "last_op_ns") > of("now", "last_op_ns"));
}

#[test]
fn jobs_in_balance_do_operations_by_their_weights() {
    let place = Place::new();
    let read = || vec![placed(OpKind::Read, "read", Access::Sequential { region: Region::Whole {}, wrap: true })];
    let balanced = |name: &str, weight| {
        let mut job = job(name, read(), Stop { seconds: Some(0.3), ..Stop::default() });
        job.arrival = Arrival::Balanced { group: "all".to_owned(), weight, pause_s: 0.0 };
        job
    };
    // By itself it would do many times what the other does.
    let mut eight = balanced("eight", 8);
    (eight.backend, eight.queue_depth) = (Backend::Null {}, 16);

    let outcome = place.run(set(1, 1.0, 65_536.0), vec![balanced("one", 1), eight]);

    outcome.check_clean();
    let completed = |name: &str| {
        let windows = outcome.finished()["workers"].as_array().unwrap();
        windows.iter().find(|window| window["job"] == name).unwrap()["completed"].as_u64().unwrap()
    };
    let (one, eight) = (completed("one"), completed("eight"));
    // Each is ahead by an operation of the other's weight at most, and what was in flight at the end was done.
    assert!(one > 0 && eight.abs_diff(8 * one) <= 8 + 8 + 16, "{one} {eight}");
}

#[test]
fn extended_attributes_that_were_set_are_found() {
    let place = Place::new();
    let actions = vec![
        act(on_set(OpKind::Setxattr, "set", 40.0, Some(0))),
        act(on_slot(OpKind::Getxattr, "get", 0.0)),
        act(on_set(OpKind::Getxattr, "get-next", 0.0, None)),
    ];

    let outcome = place.one(set(2, 1.0, 0.0), actions, passes(2));

    if outcome.error().is_some_and(|text| text.contains("keeps no user attributes")) {
        return; // tmpfs before Linux 6.6
    }
    assert_eq!((outcome.check_clean().ops("set"), outcome.ops("get"), outcome.ops("get-next")), (2, 2, 2));
    let path = std::ffi::CString::new(place.path(0).to_str().unwrap()).unwrap();
    let mut value = [0_u8; 64];
    // SAFETY: path and name are NUL-terminated; `value` has room for its length.
    let length =
        unsafe { libc::getxattr(path.as_ptr(), c"user.assay".as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    assert_eq!(length, 40);
}

#[test]
fn a_write_leaves_its_file_in_the_slot_for_what_follows() {
    let place = Place::new();
    let mut advise = on_slot(OpKind::Advise, "advise", 0.0);
    advise.flags.advice = "dontneed".to_owned();
    let actions = vec![
        act(on_set(OpKind::Write, "write", 4096.0, Some(0))),
        act(on_slot(OpKind::SyncFileRange, "start", 4096.0)),
        act(on_slot(OpKind::Fsync, "fsync", 0.0)),
        act(on_slot(OpKind::Fdatasync, "fdatasync", 0.0)),
        act(advise),
        act(on_slot(OpKind::Truncate, "cut", 10_000.0)),
    ];

    let outcome = place.one(set(3, 1.0, 20_000.0), actions, passes(12));

    outcome.check_clean();
    for operation in ["write", "start", "fsync", "fdatasync", "advise", "cut"] {
        assert_eq!(outcome.ops(operation), 12, "{operation}");
    }
    assert_eq!(place.path(0).metadata().unwrap().len(), 10_000);
}

#[test]
fn an_operation_on_a_file_whose_open_failed_is_a_failure_and_not_the_end() {
    let place = Place::new();
    let actions = vec![
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        act(on_slot(OpKind::Fstat, "fstat", 0.0)),
        act(on_slot(OpKind::Close, "close", 0.0)),
        act(on_set(OpKind::Symlink, "symlink", 0.0, None)),
        act(on_set(OpKind::Unlink, "unlink", 0.0, None)),
    ];

    // The first file goes, and the link that leads to it stays: it opens no more.
    let outcome = place.one(set(10, 0.1, 10.0), actions, passes(2));

    assert_eq!(outcome.error(), None);
    let worker = &outcome.workers()[0];
    assert_eq!((&worker["started"], &worker["completed"], &worker["failed"]), (&json!(10), &json!(7), &json!(3)));
    assert_eq!(
        (outcome.sum("open", "errors"), outcome.sum("fstat", "errors"), outcome.sum("close", "errors")),
        (1, 1, 1)
    );
}

fn picked(kind: OpKind, name: &str, pick: Pick) -> Action {
    let mut op = on_set(kind, name, 0.0, None);
    op.file = FileRef::Set { set: "data".to_owned(), pick, slot: None };
    act(op)
}

#[test]
fn an_order_takes_each_file_once_and_then_ends() {
    for pick in [Pick::Listed {}, Pick::Shuffled {}] {
        let place = Place::new();

        let looked = place.one(set(25, 1.0, 10.0), vec![picked(OpKind::Stat, "stat", pick.clone())], Stop::default());
        let removed = place.one(set(25, 1.0, 10.0), vec![picked(OpKind::Unlink, "unlink", pick)], Stop::default());

        assert_eq!((looked.check_clean().ops("stat"), looked.stopped_by()), (25, "exhausted"));
        assert_eq!((removed.check_clean().ops("unlink"), removed.stopped_by()), (25, "exhausted"));
        assert_eq!(place.names(), [0_u64; 0]);
    }
}

#[test]
fn files_are_created_in_a_shuffled_order_until_every_name_is_taken() {
    let place = Place::new();
    let create = || vec![picked(OpKind::Create, "create", Pick::Shuffled {})];

    let some = place.one(set(50, 0.0, 0.0), create(), passes(20));
    let first = place.names();
    let all = place.one(set(50, 0.0, 0.0), create(), Stop::default());

    assert_eq!(some.check_clean().ops("create"), 20);
    assert_eq!(first.len(), 20);
    assert_ne!(first, (0..20).collect::<Vec<_>>());
    assert_eq!((all.check_clean().ops("create"), all.stopped_by()), (50, "exhausted"));
    assert_eq!(place.names(), (0..50).collect::<Vec<_>>());
}

#[test]
fn backward_in_a_slot_goes_over_what_was_passed_last() {
    for backend in [Backend::Psync {}, Backend::ReadWrite {}] {
        let place = Place::new();
        let mut read = on_set(OpKind::Read, "read", 100.0, Some(0));
        read.access = Access::Sequential { region: Region::Whole {}, wrap: false };
        let mut write = on_slot(OpKind::Write, "write", 100.0);
        write.access = Access::Backward { region: Region::Whole {}, wrap: true };
        write.flags.keeps_buffer = true;
        let plain = place.one(set(1, 1.0, 1000.0), vec![act(on_set(OpKind::Stat, "stat", 0.0, None))], passes(1));
        let before = std::fs::read(place.path(0)).unwrap();
        let mut rewriting = job("job", vec![act(read), act(write)], Stop::default());
        rewriting.backend = backend;

        let outcome = place.run(set(1, 1.0, 1000.0), vec![rewriting]);

        plain.check_clean();
        assert_eq!((outcome.check_clean().ops("read"), outcome.ops("write")), (10, 10));
        let after = std::fs::read(place.path(0)).unwrap();
        // What was read is written back where it was, with one byte of each hundred changed.
        let changed: Vec<usize> = (0..1000).filter(|&at| before[at] != after[at]).collect();
        assert_eq!(changed, (0..10).map(|turn| turn * 100 + turn).collect::<Vec<_>>());
    }
}

#[test]
fn a_lock_is_held_by_one_at_a_time() {
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let hold = Action::Think { seconds: fixed(0.01), burn: false };
        let (lock, unlock) = (on_set(OpKind::Lock, "lock", 0.0, None), on_set(OpKind::Unlock, "unlock", 0.0, None));
        let holders = Job { workers: 2, kind, ..job("job", vec![act(lock), hold, act(unlock)], passes(5)) };

        let outcome = Place::new().run(set(1, 1.0, 100.0), vec![holders]);

        assert_eq!((outcome.check_clean().ops("lock"), outcome.ops("unlock")), (10, 10));
        assert!(outcome.seconds_of("job") >= 0.1, "{kind:?}: ten holds of 10 ms, no two of them at once");
    }
}

/// A job that holds the only file until `then`, and one that takes it as soon as it is held.
fn two_at_one_file(lock: OpKind, kind: WorkerKind, then: Action, taken: Action) -> Outcome {
    let unlock = || act(on_set(OpKind::Unlock, "unlock", 0.0, None));
    let (post, wait) = (Action::Post { semaphore: "held".to_owned(), count: 1 }, wait_for("held"));
    let held = vec![act(on_set(lock, "hold", 0.0, None)), post, then, unlock()];
    let takes = vec![wait, act(on_set(lock, "take", 0.0, None)), taken, unlock()];
    let of =
        |name: &str, actions, timed: &str| Job { kind, timed: vec![timed.to_owned()], ..job(name, actions, passes(1)) };
    let outcome = Place::new().run(set(1, 1.0, 100.0), vec![of("holder", held, "unlock"), of("taker", takes, "take")]);
    assert_eq!(outcome.check_clean().ops("take"), 1);
    outcome
}

fn wait_for(semaphore: &str) -> Action {
    Action::Wait { semaphore: semaphore.to_owned(), count: 1, initial: 0 }
}

#[test]
fn who_takes_a_lock_waits_for_its_holder_and_the_wait_is_in_its_latency() {
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let think = |seconds| Action::Think { seconds: fixed(seconds), burn: false };

        let outcome = two_at_one_file(OpKind::Lock, kind, think(0.1), think(0.0));

        // Of the holder its unlocking alone is timed, of the taker its locking.
        let [holder, taker] = outcome.workers() else { panic!("two workers: {:?}", outcome.workers()) };
        let [unlocks_ns, takes_ns, taken_ns] =
            [&holder["first_op_ns"], &taker["first_op_ns"], &taker["last_op_ns"]].map(|time| time.as_u64().unwrap());
        assert!(taken_ns > unlocks_ns, "{kind:?}: locked at {taken_ns}, while it was held until {unlocks_ns}");
        assert_eq!(outcome.latency_ns("take"), taken_ns - takes_ns);
    }
}

#[test]
fn a_shared_lock_lets_the_next_one_in_while_it_is_held() {
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let tell = Action::Post { semaphore: "both".to_owned(), count: 1 };

        // Ends only if the holder hears of the taker before it unlocks.
        let outcome = two_at_one_file(OpKind::LockShared, kind, wait_for("both"), tell);

        assert_eq!(outcome.stopped_by(), "passes");
    }
}

#[test]
fn a_worker_that_ends_with_a_lock_lets_the_next_one_through() {
    let (done, waiting) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut holders = job("job", vec![act(on_set(OpKind::Lock, "lock", 0.0, None))], passes(1));
        holders.workers = 3;
        let outcome = Place::new().run(set(1, 1.0, 100.0), vec![holders]);
        done.send(outcome.check_clean().ops("lock"))
    });

    assert_eq!(waiting.recv_timeout(std::time::Duration::from_secs(600)), Ok(3));
}

#[test]
fn what_is_read_and_written_is_the_same_with_cold_memory() {
    for backend in [Backend::Psync {}, Backend::ReadWrite {}, Backend::Mmap {}] {
        let place = Place::new();
        let mut write = on_set(OpKind::Write, "write", 1000.0, None);
        let mut read = on_set(OpKind::Read, "read", 1000.0, None);
        for op in [&mut write, &mut read] {
            op.access = Access::Sequential { region: Region::Whole {}, wrap: true };
            op.flags.cold_buffer = true;
        }
        let mut cold = job("job", vec![act(write), act(read)], passes(20));
        cold.backend = backend;

        let outcome = place.run(set(1, 1.0, 10_000.0), vec![cold]);

        assert_eq!((outcome.check_clean().ops("write"), outcome.ops("read")), (20, 20));
        assert_eq!((outcome.sum("write", "bytes"), outcome.sum("read", "bytes")), (20_000, 20_000));
    }
}

#[test]
fn operations_that_share_a_turn_take_one_file_after_the_other() {
    let place = Place::new();
    let cut = |name| {
        let mut op = on_set(OpKind::Truncate, name, 7.0, None);
        op.file = FileRef::Set { set: "data".to_owned(), pick: Pick::InTurn {}, slot: None };
        act(op)
    };

    let outcome = place.one(set(4, 1.0, 100.0), vec![cut("one"), cut("other")], passes(2));

    // Four in all: with a turn for each of the two, files 2 and 3 would have none.
    assert_eq!(outcome.check_clean().ops("one") + outcome.ops("other"), 4);
    assert!((0..4).all(|index| place.path(index).metadata().unwrap().len() == 7));
}

#[test]
fn a_whole_file_is_read_to_where_it_ends_now_if_asked_to() {
    let place = Place::new();
    let whole = |name, to_end| {
        let mut op = on_slot(OpKind::Read, name, 512.0);
        op.access = Access::Whole { chunk_bytes: 0, to_end };
        act(op)
    };
    let mut more = on_slot(OpKind::Write, "more", 1000.0);
    more.access = Access::Append {};
    let actions = vec![
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        act(more),
        whole("laid out", false),
        whole("to the end", true),
    ];

    let outcome = place.one(set(1, 1.0, 4000.0), actions, passes(1));

    let read = |name| outcome.sum(name, "bytes");
    assert_eq!((outcome.check_clean().ops("to the end"), read("laid out"), read("to the end")), (1, 4000, 5000));
}

#[test]
fn reads_of_a_slot_start_over_at_the_end_and_random_ones_stay_inside() {
    let place = Place::new();
    let mut random = on_slot(OpKind::Read, "random", 512.0);
    random.access = Access::Random {
        region: Region::Range { from_bytes: 1024, length_bytes: 1 << 40 },
        distribution: Distribution::Uniform { min: 0.0, max: 1.0 },
        coverage: Coverage::WithRepeats,
        align_bytes: 0,
    };
    let actions = vec![
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        Action::Repeat { times: 7, actions: vec![act(on_slot(OpKind::Read, "read", 1024.0))] },
        Action::Repeat { times: 100, actions: vec![act(random)] },
    ];

    let outcome = place.one(set(1, 1.0, 2048.0), actions, passes(1));

    // Two reads, one of nothing, two, one of nothing, and one.
    assert_eq!((outcome.check_clean().ops("read"), outcome.sum("read", "bytes")), (7, 5 * 1024));
    assert_eq!(outcome.sum("random", "bytes"), 100 * 512);
}
