//! Semaphores, tokens, thinking, mixes and groups, and the sequence that a seed gives.

use crate::harness::{Place, act, fixed, job, on_set, on_slot, passes, set, sleeper};
use assay_engine::plan::{Action, Branch, FileRef, OpKind, Pick, Stop, TokenUnit, WorkerKind};
use serde_json::json;

#[test]
fn what_is_posted_is_what_is_waited_for() {
    let place = Place::new();
    let count = |verb: fn(String, u64) -> Action, count| verb("ready".to_owned(), count);
    let producer = vec![
        act(on_set(OpKind::Create, "create", 0.0, None)),
        count(|semaphore, count| Action::Post { semaphore, count }, 2),
    ];
    let consumer = vec![
        count(|semaphore, count| Action::Wait { semaphore, count, initial: 0 }, 4),
        act(on_set(OpKind::Unlink, "unlink", 0.0, None)),
    ];

    let outcome = place.run(
        set(50, 0.0, 0.0),
        vec![job("producer", producer, passes(41)), job("consumer", consumer, Stop::default())],
    );

    // 82 posted are enough for 20 waits of 4; the next one has nobody left who could end it.
    outcome.check_clean();
    assert_eq!((outcome.ops("create"), outcome.ops("unlink")), (41, 20));
    assert_eq!(outcome.stopped_by(), "exhausted");
    assert_eq!(place.names().len(), 21);
}

#[test]
fn processes_share_semaphores_as_threads_do() {
    let place = Place::new();
    let post = Action::Post { semaphore: "ready".to_owned(), count: 1 };
    let wait = Action::Wait { semaphore: "ready".to_owned(), count: 2, initial: 0 };
    let mut producer = job("producer", vec![act(on_set(OpKind::Create, "create", 0.0, None)), post], passes(20));
    let mut consumer = job("consumer", vec![wait, act(on_set(OpKind::Unlink, "unlink", 0.0, None))], Stop::default());
    producer.kind = WorkerKind::Process;
    consumer.kind = WorkerKind::Process;

    let outcome = place.run(set(50, 0.0, 0.0), vec![producer, consumer]);

    outcome.check_clean();
    assert_eq!((outcome.ops("create"), outcome.ops("unlink"), place.names().len()), (20, 10, 10));
}

#[test]
fn tokens_hold_all_takers_to_one_rate() {
    let place = Place::new();
    let token =
        Action::Token { bucket: "rate".to_owned(), rate_per_s: 200.0, unit: TokenUnit::Op, operation: String::new() };
    let mut stat = job("stat", vec![token, act(on_set(OpKind::Stat, "stat", 0.0, None))], passes(40));
    stat.workers = 3;

    let outcome = place.run(set(2, 1.0, 0.0), vec![stat, sleeper(2.0)]);

    // One a worker is free, as nothing was done before it, and so is the first that is paid for: the last of 117 comes 116
    // times 1/200 s after it. With a rate for each, they would take a third of that.
    assert_eq!(outcome.check_clean().ops("stat"), 120);
    let seconds = outcome.seconds_of("stat");
    assert!(seconds >= 116.0 / 200.0 && seconds < outcome.seconds_of("sleeper"), "{seconds}");
}

#[test]
fn mebibytes_are_paid_for_by_what_was_moved() {
    let place = Place::new();
    let token = Action::Token {
        bucket: "rate".to_owned(),
        rate_per_s: 4.0,
        unit: TokenUnit::Mebibyte,
        operation: String::new(),
    };
    let actions = vec![act(on_set(OpKind::Read, "read", 65_536.0, None)), token];

    let outcome = place.run(set(1, 1.0, 1_048_576.0), vec![job("read", actions, passes(33)), sleeper(3.0)]);

    // The first read is paid for at once, so the last begins 31 times 1/64 s after the start; were each read paid for as a
    // whole MiB, after 7.75 s.
    let seconds = outcome.check_clean().seconds_of("read");
    assert!(seconds >= 31.0 / 64.0 && seconds < outcome.seconds_of("sleeper"), "{seconds}");
}

#[test]
fn thinking_takes_time_and_is_in_no_latency() {
    for burn in [false, true] {
        let place = Place::new();
        let think = Action::Think { seconds: fixed(0.01), burn };
        let actions = vec![act(on_set(OpKind::Read, "read", 512.0, None)), think];

        let outcome = place.one(set(1, 1.0, 4096.0), actions, passes(21));

        let worker = &outcome.check_clean().workers()[0];
        let whole_ns = worker["last_op_ns"].as_u64().unwrap() - worker["first_op_ns"].as_u64().unwrap();
        let read_ns = outcome.latency_ns("read");
        // Between the first read and the last it thinks 20 times, and nothing of that is theirs.
        assert!(read_ns + 20 * 10_000_000 <= whole_ns, "{read_ns} of {whole_ns}");
    }
}

#[test]
fn threads_and_processes_tell_at_every_tick_how_long_they_rested() {
    let [none, think, burn] = [None, Some(false), Some(true)];
    for (kind, thinks) in
        [WorkerKind::Thread, WorkerKind::Process].iter().flat_map(|k| [none, think, burn].map(|t| (k, t)))
    {
        let place = Place::new();
        let mut actions = vec![act(on_set(OpKind::Read, "read", 512.0, None))];
        actions.extend(thinks.map(|burn| Action::Think { seconds: fixed(0.02), burn }));
        let mut thinker = job("thinker", actions, passes(if thinks.is_some() { 30 } else { 1000 }));
        thinker.kind = *kind;

        let outcome = place.run(set(1, 1.0, 4096.0), vec![thinker]);

        outcome.check_clean();
        let t_ns: Vec<u64> = outcome.all("interval").map(|event| event["t_ns"].as_u64().unwrap()).collect();
        let idle = outcome.all("interval").map(|event| event["workers"][0]["idle_ns"].as_u64().unwrap());
        let idle_ns: Vec<u64> = idle.collect();
        let paused_ns = if thinks == Some(false) { 30 * 20_000_000 } else { 0 };
        assert_eq!((idle_ns[0], *idle_ns.last().unwrap()), (0, paused_ns), "{kind:?} {thinks:?}");
        for tick in 1..t_ns.len() {
            // Workers are looked at a little after the time of their tick: the next tick's time is after that for certain.
            let until_ns = t_ns.get(tick + 1).unwrap_or(&u64::MAX) - t_ns[0];
            assert!(idle_ns[tick - 1] <= idle_ns[tick] && idle_ns[tick] <= until_ns, "{idle_ns:?} {t_ns:?}");
        }
    }
}

#[test]
fn a_worker_finishes_on_the_count_of_one_operation() {
    let place = Place::new();
    let read = || act(on_set(OpKind::Read, "read", 512.0, None));
    let finish =
        |op: &str, ops, bytes| Action::FinishOn { op: op.to_owned(), ops, bytes, together: false, every_kind: false };
    let stat = || act(on_set(OpKind::Stat, "stat", 0.0, None));

    let by_ops =
        place.one(set(1, 1.0, 4096.0), vec![stat(), read(), read(), finish("stat", Some(7), None)], Stop::default());
    let by_bytes = place.one(set(1, 1.0, 4096.0), vec![stat(), read(), finish("", None, Some(5000))], Stop::default());
    let unknown = place.one(set(1, 1.0, 4096.0), vec![stat(), finish("wash", Some(1), None)], Stop::default());

    assert_eq!((by_ops.ops("stat"), by_ops.ops("read"), by_ops.stopped_by()), (7, 14, "ops"));
    assert_eq!((by_bytes.sum("read", "bytes"), by_bytes.stopped_by()), (5120, "bytes"));
    assert!(unknown.error().unwrap().contains("'wash', which the job does not have"));
}

#[test]
fn a_failed_group_leaves_no_open_file_behind() {
    let place = Place::new();
    // There is no such attribute, so the group ends before its close.
    let group = Action::Group {
        name: "make".to_owned(),
        actions: vec![
            act(on_set(OpKind::Open, "open", 0.0, Some(0))),
            act(on_slot(OpKind::Getxattr, "cut", 16.0)),
            act(on_slot(OpKind::Close, "close", 0.0)),
        ],
        laps: false,
    };
    let outcome = place.one(set(1, 1.0, 10.0), vec![group], passes(300));

    // More failures than descriptors (`carry_out` allows 64): with a leak, open would fail with EMFILE.
    let worker = &outcome.workers()[0];
    assert_eq!((outcome.ops("open"), outcome.sum("cut", "errors"), outcome.ops("close")), (300, 300, 0));
    assert_eq!((&worker["started"], &worker["failed"]), (&json!(600), &json!(300)));
}

#[test]
fn a_mix_converges_to_its_shares_and_its_counts_balance() {
    let place = Place::new();
    let branch = |weight, op| Branch { weight, actions: vec![act(op)] };
    let choice = Action::Choice {
        branches: vec![
            branch(7.0, on_set(OpKind::Read, "read", 512.0, None)),
            branch(2.0, on_set(OpKind::Stat, "stat", 0.0, None)),
            branch(1.0, on_set(OpKind::Write, "write", 512.0, None)),
        ],
    };

    let outcome = place.one(set(4, 1.0, 65_536.0), vec![choice], passes(20_000));

    outcome.check_clean();
    assert_eq!(outcome.workers()[0]["completed"], 20_000);
    // Five standard deviations of the binomial distribution.
    for (operation, share) in [("read", 0.7_f64), ("stat", 0.2), ("write", 0.1)] {
        let deviation = (share * (1.0 - share) / 20_000.0).sqrt();
        let seen = outcome.ops(operation) as f64 / 20_000.0;
        assert!((seen - share).abs() < 5.0 * deviation, "{operation}: {seen}");
    }
}

// -- sequences ---------------------------------------------------------------------------------------------------------

/// What a directory holds: every name with its kind, length and first bytes.
fn contents(place: &Place) -> Vec<(u64, u64, Vec<u8>)> {
    place
        .names()
        .into_iter()
        .map(|index| {
            let bytes = std::fs::read(place.path(index)).unwrap();
            (index, bytes.len() as u64, bytes)
        })
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_sequence_for_every_worker() {
    // Each worker's own file records its sequence: a write in the place and with the content that its draws say.
    let write = |size_bytes: f64| {
        let mut op = on_set(OpKind::Write, "write", size_bytes, None);
        op.file = FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None };
        op
    };
    let branch = |weight, op| Branch { weight, actions: vec![act(op)] };
    let choice = || Action::Choice { branches: vec![branch(3.0, write(512.0)), branch(1.0, write(1536.0))] };
    let run = |workers| {
        let place = Place::new();
        let mut job = job("job", vec![choice()], passes(200));
        job.workers = workers;
        place.run(set(4, 1.0, 40_000.0), vec![job]).check_clean();
        contents(&place)
    };

    let (one, two, four, again) = (run(1), run(2), run(4), run(4));

    assert_eq!(four, again);
    assert_eq!(one[0], four[0], "worker 0 does the same whoever else is there");
    assert_eq!(two[..2], four[..2]);
    assert_ne!(four[0].2, four[1].2);
}

#[test]
fn a_group_with_laps_tells_each_completion_of_each_worker_by_itself() {
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let place = Place::new();
        let mkdirs = vec![Action::Repeat { times: 4, actions: vec![act(on_set(OpKind::Mkdir, "mkdir", 0.0, None))] }];
        let step = Action::Group { name: "step".to_owned(), actions: mkdirs, laps: true };
        let mut job = job("job", vec![step], passes(5));
        (job.workers, job.kind, job.timed) = (2, kind, vec!["mkdir".to_owned()]);

        let outcome = place.run(set(40, 0.0, 0.0), vec![job]);

        outcome.check_clean();
        assert_eq!((outcome.ops("mkdir"), outcome.all("laps").any(|laps| laps["group"] != "step")), (40, false));
        let numbers = |laps: &serde_json::Value, field: &str| -> Vec<u64> {
            laps[field].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
        };
        let mut latency_ns = 0;
        for (worker, window) in outcome.workers().iter().enumerate() {
            let of_worker: Vec<_> = outcome.all("laps").filter(|laps| laps["worker"] == worker).collect();
            let all = |field| of_worker.iter().flat_map(|laps| numbers(laps, field)).collect::<Vec<_>>();
            assert_eq!(all("number"), [0, 1, 2, 3, 4]);
            assert!(all("end_ns").is_sorted());
            assert_eq!(all("end_ns").last(), window["last_op_ns"].as_u64().as_ref());
            latency_ns += all("latency_ns").iter().sum::<u64>();
        }
        // What the laps say together is what the histogram of their members says.
        assert_eq!(latency_ns, outcome.latency_ns("mkdir"));
    }
}

#[test]
fn a_lap_with_a_failed_operation_has_no_latency() {
    let place = Place::new();
    let cut = act(on_slot(OpKind::Getxattr, "cut", 16.0));
    let group = Action::Group {
        name: "make".to_owned(),
        actions: vec![act(on_set(OpKind::Open, "open", 0.0, Some(0))), cut],
        laps: true,
    };

    let outcome = place.one(set(1, 1.0, 10.0), vec![group], passes(2));

    let laps: Vec<_> = outcome.all("laps").collect();
    assert_eq!((laps.len(), &laps[0]["latency_ns"], &laps[0]["number"]), (1, &json!([null, null]), &json!([0, 1])));
}

#[test]
fn a_semaphore_begins_with_what_its_waits_say() {
    let place = Place::new();
    let stat = || act(on_set(OpKind::Stat, "stat", 0.0, None));
    let wait = Action::Wait { semaphore: "room".to_owned(), count: 2, initial: 5 };
    let post = Action::Post { semaphore: "room".to_owned(), count: 1 };
    let look = act(on_set(OpKind::Stat, "look", 0.0, None));

    let outcome = place.run(
        set(1, 1.0, 0.0),
        vec![job("post", vec![look, post], passes(1)), job("wait", vec![wait, stat()], Stop::default())],
    );

    // Five at first and one that is posted are three times two.
    assert_eq!(outcome.check_clean().ops("stat"), 3);
}

#[test]
fn tokens_of_one_operation_leave_the_others_free() {
    let place = Place::new();
    let token = Action::Token {
        bucket: "rate".to_owned(),
        rate_per_s: 40.0,
        unit: TokenUnit::Op,
        operation: "stat".to_owned(),
    };
    let reads = Action::Repeat { times: 1000, actions: vec![act(on_set(OpKind::Read, "read", 512.0, None))] };
    let actions = vec![reads, act(on_set(OpKind::Stat, "stat", 0.0, None)), token];

    let outcome = place.run(set(1, 1.0, 4096.0), vec![job("stat", actions, passes(9)), sleeper(2.0)]);

    // Nine are paid for, 0.2 s from the first to the last; with the reads they would take 225 s.
    let seconds = outcome.check_clean().seconds_of("stat");
    assert!(seconds >= 7.0 / 40.0 && seconds < outcome.seconds_of("sleeper"), "{seconds}");
}

#[test]
fn workers_finish_on_what_all_of_them_did() {
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let place = Place::new();
        let finish =
            Action::FinishOn { op: String::new(), ops: Some(60), bytes: None, together: true, every_kind: true };
        let actions =
            vec![act(on_set(OpKind::Stat, "stat", 0.0, None)), act(on_set(OpKind::Read, "read", 512.0, None)), finish];
        let mut three = job("three", actions, Stop::default());
        (three.workers, three.kind) = (3, kind);

        let outcome = place.run(set(1, 1.0, 4096.0), vec![three]);

        // Each looks after a pass of two: the others may be in one more by then.
        let done = outcome.check_clean().ops("stat") + outcome.ops("read");
        assert!((60..=64).contains(&done), "{done}");
        assert_eq!(outcome.stopped_by(), "ops");
    }
}
