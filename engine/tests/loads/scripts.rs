//! Explicit lists of operations.

use crate::harness::{Place, fixed, job, on_set, on_slot, set, sleeper};
use assay_engine::plan::{Access, Backend, Body, Job, Op, OpKind, ScriptGroup, Stop};

fn script(place: &Place, lines: &str, ops: Vec<Op>, workers: u32) -> Job {
    let path = place.directory.path().join("script.ndjson");
    std::fs::write(&path, lines).unwrap();
    let mut job = job("job", Vec::new(), Stop::default());
    job.body = Body::Script { ops, groups: Vec::new(), path: path.to_str().unwrap().to_owned() };
    job.workers = workers;
    job
}

#[test]
fn a_script_does_what_its_lines_say_in_their_order() {
    let place = Place::new();
    let ops = vec![
        on_set(OpKind::Create, "create", 0.0, Some(0)),
        on_slot(OpKind::Write, "write", 1.0),
        on_slot(OpKind::Close, "close", 0.0),
        on_set(OpKind::Unlink, "unlink", 0.0, None),
        on_set(OpKind::Rename, "rename", 0.0, None),
    ];
    let lines = "[0,17,0,0,0]\n[1,0,1000,24,0]\n[2,0,0,0,0]\n\n[0,3,0,0,0]\n[2,0,0,0,0]\n[3,3,0,0,0]\n[4,17,9,0,0]\n";

    let outcome = place.run(set(20, 0.0, 0.0), vec![script(&place, lines, ops, 1)]);

    outcome.check_clean();
    assert_eq!((outcome.ops("create"), outcome.ops("close"), outcome.stopped_by()), (2, 2, "exhausted"));
    assert_eq!(place.names(), [9]);
    assert_eq!(place.path(9).metadata().unwrap().len(), 1024);
}

#[test]
fn the_lines_of_a_script_are_shared_out_and_each_is_done_once() {
    let place = Place::new();
    let lines: String = (0..40).map(|index| format!("[0,{index},0,0,0]\n")).collect();

    let outcome = place
        .run(set(40, 0.0, 0.0), vec![script(&place, &lines, vec![on_set(OpKind::Create, "create", 0.0, None)], 3)]);

    outcome.check_clean();
    let done: Vec<_> = outcome.workers().iter().map(|worker| worker["completed"].as_u64().unwrap()).collect();
    assert_eq!((done, place.names().len()), (vec![14, 13, 13], 40));
}

#[test]
fn what_fails_for_want_of_its_source_leaves_the_file_that_was_there() {
    for kind in [OpKind::Link, OpKind::Copy, OpKind::Clone, OpKind::Rename] {
        let place = Place::new();
        // File 5 of 10 does not exist; file 2 does.
        let job = script(&place, "[0,5,2,0,0]\n", vec![on_set(kind, "make", 0.0, None)], 1);

        let outcome = place.run(set(10, 0.4, 100.0), vec![job]);

        assert_eq!(outcome.finished()["errors"][0]["errno"], libc::ENOENT, "{kind:?}");
        assert_eq!(place.names(), [0, 1, 2, 3]);
        assert_eq!(place.path(2).metadata().unwrap().len(), 100);
    }
}

#[test]
fn a_group_that_reads_a_file_into_a_slot_and_writes_to_it_there_may_write() {
    let place = Place::new();
    let group = ScriptGroup {
        name: "change".to_owned(),
        ops: vec![on_set(OpKind::Read, "read", 512.0, Some(0)), on_slot(OpKind::Write, "write", 512.0)],
        chunk_bytes: 0,
        pooled: false,
    };
    let mut job = script(&place, "[0,0,0,512,0]\n", Vec::new(), 1);
    let Body::Script { groups, .. } = &mut job.body else { unreachable!("made above") };
    groups.push(group);

    let outcome = place.run(set(1, 1.0, 4096.0), vec![job]);

    outcome.check_clean();
    assert_eq!((outcome.ops("change"), outcome.sum("write", "bytes")), (1, 512));
}

#[test]
fn lines_with_a_time_are_begun_then_and_their_response_counts_from_it() {
    let place = Place::new();
    let lines: String = (0..20).map(|k| format!("[0,0,{},4096,{}]\n", k * 4096, (k + 1) * 10_000_000)).collect();

    let read = script(&place, &lines, vec![on_set(OpKind::Read, "read", 4096.0, None)], 1);
    let outcome = place.run(set(1, 1.0, 81_920.0), vec![read, sleeper(1.0)]);

    outcome.check_clean();
    assert_eq!((outcome.ops("read"), outcome.sum("read", "bytes")), (20, 81_920));
    // The last is due 0.2 s after the start; were the times those from line to line, 2.1 s.
    let seconds = outcome.seconds_of("job");
    assert!(seconds >= 0.2 && seconds < outcome.seconds_of("sleeper"), "{seconds}");
    let operations = outcome.all("interval").flat_map(|event| event["operations"].as_array().unwrap());
    let operations = operations.filter(|one| one["operation"] == "read");
    let (mut responses, mut response_ns) = (0, 0);
    for one in operations {
        responses += one["response"]["count"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>();
        response_ns += one["response"]["sum_ns"].as_u64().unwrap();
    }
    assert_eq!(responses, 20);
    assert!(response_ns >= outcome.latency_ns("read"));
}

#[test]
fn scripts_that_cannot_be_followed_are_refused_with_the_line() {
    for (lines, workers, part) in [
        ("[0,0,0,512,0]\n[0,0]\n", 1, "line 2: "),
        ("[1,0,0,512,0]\n", 1, "line 1: operation 1 does not exist; the job has 1"),
        ("[0,0,0,0,0]\n", 1, "line 1: size is 0"),
        ("", 1, "holds no operation"),
        ("[0,0,0,512,0]\n", 2, "use 1 worker"),
    ] {
        let place = Place::new();
        let ops = vec![on_set(OpKind::Read, "read", 512.0, Some(0))];

        place.run(set(1, 1.0, 4096.0), vec![script(&place, lines, ops, workers)]).check_refused(part);
    }
    let place = Place::new();
    let attribute = vec![on_set(OpKind::Setxattr, "attribute", 16.0, None)];
    let lines = "[0,0,0,65536,0]\n[0,0,0,65537,0]\n";
    place.run(set(1, 1.0, 4096.0), vec![script(&place, lines, attribute, 1)]).check_refused("line 2: size is 65537");
    let mut gone = script(&place, "[0,0,0,512,0]\n", vec![on_set(OpKind::Read, "read", 512.0, None)], 1);
    gone.body = Body::Script {
        ops: vec![on_set(OpKind::Read, "read", 512.0, None)],
        groups: Vec::new(),
        path: "/no/such/script".to_owned(),
    };
    assert!(place.run(set(1, 1.0, 4096.0), vec![gone]).error().unwrap().contains("/no/such/script"));
}

/// Make, read and append to whole files: open, move in pieces, close.
fn file_groups(chunk_bytes: u64) -> Vec<ScriptGroup> {
    let group = |name: &str, opens: OpKind, moves: OpKind, access: Access| ScriptGroup {
        name: name.to_owned(),
        ops: vec![
            on_set(opens, &format!("{name}: open"), 0.0, Some(0)),
            Op { access, ..on_slot(moves, &format!("{name}: move"), 512.0) },
            on_slot(OpKind::Close, &format!("{name}: close"), 0.0),
        ],
        chunk_bytes,
        pooled: false,
    };
    vec![
        group("create", OpKind::Create, OpKind::Write, Access::Whole { chunk_bytes: 0, to_end: false }),
        group("read", OpKind::Open, OpKind::Read, Access::Whole { chunk_bytes: 0, to_end: false }),
        group("append", OpKind::Open, OpKind::Write, Access::Append {}),
    ]
}

fn script_of_groups(place: &Place, lines: &str, backend: Backend, chunk_bytes: u64) -> Job {
    let mut job = script(place, lines, vec![on_set(OpKind::Unlink, "delete", 0.0, None)], 1);
    let Body::Script { groups, .. } = &mut job.body else { unreachable!("made above") };
    *groups = file_groups(chunk_bytes);
    job.timed = ["create", "read", "append", "delete"].map(str::to_owned).to_vec();
    job.backend = backend;
    job
}

const STDIO: Backend = Backend::Stdio { per_character: false };

#[test]
fn the_operations_of_a_group_are_done_with_its_line_and_counted_as_one() {
    for backend in [Backend::Psync {}, STDIO] {
        let place = Place::new();
        let lines = "[1,7,0,1390,0]\n[1,2,0,9999,0]\n[3,7,1390,3410,0]\n[2,7,0,4800,0]\n[2,2,0,9999,0]\n[0,2,0,0,0]\n";

        let outcome = place.run(set(20, 0.0, 0.0), vec![script_of_groups(&place, lines, backend, 512)]);

        outcome.check_clean();
        let ops = ["create", "read", "append", "delete"].map(|name| outcome.ops(name));
        let bytes = ["create", "read", "append"].map(|name| outcome.sum(name, "bytes"));
        assert_eq!((ops, bytes), ([2, 2, 1, 1], [11_389, 14_799, 3410]));
        assert_eq!(outcome.ops("create: move"), 0, "the members are not among the timed");
        assert_eq!(place.names(), [7]);
        assert_eq!(place.path(7).metadata().unwrap().len(), 4800);
    }
}

#[test]
fn a_group_takes_from_the_begin_of_its_first_operation_to_the_end_of_its_last() {
    let members = ["open", "move", "close"];
    for backend in [Backend::Psync {}, STDIO] {
        for (name, line) in [("create", "[1,7,0,3000000,0]\n"), ("read", "[2,0,0,3000000,0]\n")] {
            let run = |are_timed: bool| {
                let place = Place::new();
                let mut job = script_of_groups(&place, line, backend.clone(), 512);
                let Body::Script { groups, .. } = &mut job.body else { unreachable!("made above") };
                groups.iter_mut().for_each(|group| group.pooled = true);
                let of_members = members.map(|member| format!("{name}: {member}"));
                job.timed.extend(of_members.iter().filter(|_| are_timed).cloned());

                let outcome = place.run(set(8, 0.2, 3_000_000.0), vec![job]);

                outcome.check_clean();
                let worker = &outcome.workers()[0];
                let whole_ns = worker["last_op_ns"].as_u64().unwrap() - worker["first_op_ns"].as_u64().unwrap();
                (outcome.latency_ns(name), whole_ns, of_members.map(|member| outcome.latency_ns(&member)))
            };

            let (latency_ns, whole_ns, of_members) = run(false);
            assert_eq!((latency_ns, of_members), (whole_ns, [0; 3]), "they follow one another without a gap");
            assert!(latency_ns > 0);

            let (latency_ns, whole_ns, of_members) = run(true);
            assert_eq!((latency_ns, of_members.iter().sum()), (whole_ns, latency_ns));
            assert!(of_members.iter().all(|&latency_ns| latency_ns > 0), "{of_members:?}");
        }
    }
}

#[test]
fn making_what_a_group_writes_is_in_no_latency() {
    for backend in [Backend::Psync {}, STDIO] {
        let place = Place::new();

        let outcome =
            place.run(set(1, 0.0, 0.0), vec![script_of_groups(&place, "[1,0,0,64000000,0]\n", backend, 1 << 20)]);

        outcome.check_clean();
        let worker = &outcome.workers()[0];
        let whole_ns = worker["last_op_ns"].as_u64().unwrap() - worker["first_op_ns"].as_u64().unwrap();
        // The operations follow one another: only the making of their bytes lies between them.
        assert!(outcome.latency_ns("create") < whole_ns, "{} {whole_ns}", outcome.latency_ns("create"));
    }
}

#[test]
fn pieces_put_the_same_bytes_into_a_file_as_one_call() {
    let written = |backend: Backend, chunk_bytes| {
        let place = Place::new();
        let lines = "[1,0,0,9000,0]\n[3,0,9000,777,0]\n";
        place.run(set(1, 0.0, 0.0), vec![script_of_groups(&place, lines, backend, chunk_bytes)]).check_clean();
        std::fs::read(place.path(0)).unwrap()
    };

    let whole = written(Backend::Psync {}, 0);

    assert_eq!(whole.len(), 9777);
    assert!(whole.chunks(512).collect::<std::collections::HashSet<_>>().len() == 20, "no piece is like another");
    for (backend, chunk_bytes) in [(Backend::Psync {}, 512), (STDIO, 512), (STDIO, 0), (STDIO, 100_000)] {
        assert_eq!(written(backend, chunk_bytes), whole);
    }
}

#[test]
fn what_comes_from_a_pool_is_the_same_but_for_eight_bytes_of_every_block() {
    const BLOCK_BYTES: usize = 4096;
    for (backend, chunk_bytes) in [(Backend::Psync {}, 512), (Backend::Psync {}, 0), (STDIO, 512), (STDIO, 0)] {
        let place = Place::new();
        // A read between two writes leaves its bytes in the buffer; an append goes on in the middle of a block.
        let lines = "[1,0,0,9000,0]\n[2,0,0,9000,0]\n[1,1,0,20000,0]\n[1,2,0,9000,0]\n[3,2,9000,9000,0]\n";
        let mut job = script_of_groups(&place, lines, backend, chunk_bytes);
        let Body::Script { groups, .. } = &mut job.body else { unreachable!("made above") };
        groups.iter_mut().for_each(|group| group.pooled = true);

        place.run(set(3, 0.0, 0.0), vec![job]).check_clean();

        let [first, longest, appended] = [0, 1, 2].map(|file| std::fs::read(place.path(file)).unwrap());
        assert_eq!((first.len(), longest.len(), appended.len()), (9000, 20_000, 18_000));
        let all = [&first, &longest, &appended];
        let blocks: Vec<&[u8]> = all.iter().flat_map(|file| file.chunks(BLOCK_BYTES)).collect();
        assert_eq!(
            blocks.iter().map(|block| &block[..8]).collect::<std::collections::HashSet<_>>().len(),
            blocks.len()
        );
        let mut words: Vec<&[u8]> = longest.chunks_exact(8).collect();
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "nothing in it comes twice");
        for (one, other) in [(&first[..], &longest[..]), (&appended[9000..], &longest[..])] {
            let unlike = one.iter().zip(other).filter(|(one, other)| one != other).count();
            // Three blocks each way, and the marks of the writes before.
            assert!((8..=80).contains(&unlike), "{unlike} bytes differ");
        }
    }
}

#[test]
fn a_pool_does_not_go_with_content_that_compresses() {
    let place = Place::new();
    let mut job = script_of_groups(&place, "[1,0,0,4096,0]\n", Backend::Psync {}, 0);
    let Body::Script { groups, .. } = &mut job.body else { unreachable!("made above") };
    groups.truncate(1);
    groups[0].pooled = true;
    job.timed.clear();
    let mut reducible = set(1, 0.0, 0.0);
    reducible.content.compress_ratio = 2.0;

    place.run(reducible, vec![job]).check_refused("pooled gives bytes that neither compress nor repeat");
}

#[test]
fn a_group_is_broken_off_where_an_operation_fails_and_the_next_line_is_done() {
    for backend in [Backend::Psync {}, STDIO] {
        let place = Place::new();
        let lines = "[1,3,0,600,0]\n[2,4,0,600,0]\n[1,3,0,600,0]\n[2,3,0,600,0]\n";

        let outcome = place.run(set(20, 0.0, 0.0), vec![script_of_groups(&place, lines, backend, 512)]);

        let failed = ["create", "read"].map(|name| outcome.sum(name, "errors"));
        assert_eq!((failed, outcome.ops("create"), outcome.ops("read")), ([1, 1], 1, 1));
        let worker = &outcome.workers()[0];
        let counted = ["started", "completed", "failed"].map(|key| worker[key].as_u64().unwrap());
        assert_eq!(counted, [8, 6, 2], "six calls of two whole groups, and two opens that failed");
        assert_eq!(outcome.stopped_by(), "exhausted");
    }
}

#[test]
fn a_group_that_is_broken_off_ends_with_the_operation_that_failed() {
    for backend in [Backend::Psync {}, STDIO] {
        let place = Place::new();

        let outcome =
            place.run(set(20, 0.0, 0.0), vec![script_of_groups(&place, "[2,4,0,600,0]\n", backend.clone(), 512)]);

        assert_eq!(outcome.sum("read", "errors"), 1);
        let worker = &outcome.workers()[0];
        let [first_ns, last_ns] = ["first_op_ns", "last_op_ns"].map(|key| worker[key].as_u64().unwrap());
        assert!(last_ns > first_ns, "{backend:?}: what follows would have its time");
    }
}

#[test]
fn groups_are_shared_by_workers_because_each_fills_its_own_slots() {
    let place = Place::new();
    let lines: String = (0..30).map(|file| format!("[1,{file},0,2000,0]\n")).collect();
    let mut job = script_of_groups(&place, &lines, Backend::Psync {}, 512);
    job.workers = 2;

    let outcome = place.run(set(30, 0.0, 0.0), vec![job]);

    outcome.check_clean();
    assert_eq!((outcome.ops("create"), place.names().len()), (30, 30));
}

#[test]
fn groups_that_cannot_be_done_are_refused_before_a_file_is_touched() {
    let uring = Backend::IoUring {
        sqpoll: false,
        sqpoll_cpu: None,
        iopoll: false,
        fallback: assay_engine::plan::Fallback::Threads,
    };
    type Change = fn(&mut ScriptGroup);
    let cases: [(Backend, Change, &str); 5] = [
        (Backend::Psync {}, |group| group.ops.clear(), "script group 'create': it has no operation"),
        (Backend::Psync {}, |group| drop(group.ops.remove(0)), "works on slot 0, which none before it fills"),
        (uring, |_| (), "chunk_bytes and pooled are for the backends psync and stdio"),
        (Backend::Psync {}, |group| group.ops[1].flags.vectors = 2, "chunk_bytes goes with plain reads and writes"),
        (Backend::Psync {}, |group| group.ops[1].size = fixed(0.0), "must be between 1 byte and 1 GiB"),
    ];
    for (backend, change, part) in cases {
        let place = Place::new();
        let mut job = script_of_groups(&place, "[1,0,0,600,0]\n", backend, 512);
        let Body::Script { groups, .. } = &mut job.body else { unreachable!("made above") };
        change(&mut groups[0]);

        place.run(set(20, 0.0, 0.0), vec![job]).check_refused(part);
    }
    for (line, part) in [("[4,0,0,600,0]", "the job has 4"), ("[1,0,0,0,0]", "size is 0"), ("[1,20,0,9,0]", "beyond")] {
        let place = Place::new();
        let job = script_of_groups(&place, line, STDIO, 512);

        place.run(set(20, 0.0, 0.0), vec![job]).check_refused(part);
    }
}
