//! Workers with one request in flight, in every shape that a loop can have.

use super::plans::{act, job, on_set, on_slot, op_on};
use super::{MS, NullModel, START_NS, Trial, buckets, ops, own, taking};
use crate::events::StoppedBy;
use crate::plan::{Access, Action, Branch, Coverage, Distribution, FileRef, Op, OpKind, Pick, Region};

const READ: OpKind = OpKind::Read;
const TIMES_NS: [u64; 3] = [5_000, 70_000, 3 * MS];

/// Reads of the worker's own file, at offsets that are drawn.
fn drawn() -> Op {
    let access = Access::Random {
        region: Region::Whole {},
        coverage: Coverage::WithRepeats,
        align_bytes: 0,
        distribution: Distribution::Uniform { min: 0.0, max: 1.0 },
    };
    Op { access, ..op_on(READ, "read", own_file(), 4096.0) }
}

/// Loops in which each read is one of the worker's operations.
fn shapes_of_one() -> Vec<(&'static str, Vec<Action>)> {
    let one = || own(READ, "read", 4096.0);
    let sized = Op { size: Distribution::Uniform { min: 1.0, max: 9000.0 }, ..drawn() };
    let in_slot = vec![
        act(on_set(READ, "read", 4096.0, Some(0))),
        Action::Repeat { times: 9, actions: vec![act(on_slot(READ, "read", 4096.0))] },
    ];
    vec![
        ("a row", vec![one()]),
        ("files in turn", vec![act(on_set(READ, "read", 4096.0, None))]),
        ("drawn offsets", vec![act(drawn())]),
        ("drawn sizes", vec![act(sized)]),
        ("two in turn", vec![one(), one()]),
        ("rows within a pass", vec![Action::Repeat { times: 7, actions: vec![one()] }]),
        ("repeats", vec![Action::Repeat { times: 3, actions: vec![one(), act(drawn())] }]),
        ("branches", vec![Action::Choice { branches: vec![branch(1.0, one()), branch(2.0, act(drawn()))] }]),
        ("a slot", in_slot),
        ("writes", vec![own(OpKind::Write, "read", 4096.0)]),
    ]
}

fn branch(weight: f64, action: Action) -> Branch {
    Branch { weight, actions: vec![action] }
}

#[test]
fn latencies_of_every_shape_of_loop_are_what_the_storage_took_and_fill_the_time() {
    for (shape, actions) in shapes_of_one() {
        println!("{shape}");

        let outcome = Trial::new(job("job", actions, ops(3000)), taking(&TIMES_NS)).run();

        outcome.check_against_storage("read");
        assert_eq!((outcome.ended.stopped_by, outcome.stats.ops.get()), (StoppedBy::Ops, 3000));
        // A thousand of each time, one after the other: the sum of the latencies is the time that it took.
        let sum_ns = 1000 * TIMES_NS.iter().sum::<u64>();
        assert_eq!((outcome.latency("read").sum_ns, outcome.end_ns - START_NS), (sum_ns, sum_ns));
        assert_eq!(outcome.window_s(), sum_ns as f64 / 1e9);
        assert_eq!(outcome.stats.depth_sum.get(), 3000);
        assert_eq!(outcome.response("read"), buckets([]));
    }
}

#[test]
fn throughput_is_what_one_size_and_one_time_make_it() {
    let outcome = Trial::new(job("job", vec![own(READ, "read", 4096.0)], ops(2500)), taking(&[MS / 10])).run();

    // 4 KiB every 0.1 ms.
    assert_eq!(outcome.stats.bytes.get() as f64 / outcome.window_s(), 40_960_000.0);
    assert_eq!(outcome.stats.ops.get() as f64 / outcome.window_s(), 10_000.0);
}

#[test]
fn what_is_done_each_fourth_time_follows_each_fourth_and_no_other() {
    let fourth = || Action::Every { times: 4, actions: vec![own(OpKind::Write, "write", 512.0)] };
    let inside = vec![own(READ, "read", 4096.0), fourth()];
    let group = Action::Group { name: "group".to_owned(), actions: inside.clone(), laps: false };
    let chosen = Action::Choice { branches: vec![Branch { weight: 1.0, actions: inside.clone() }] };
    let first = vec![fourth(), own(READ, "read", 4096.0)];
    for (shape, actions, stop, first_write) in [
        ("in a row", inside, 100, 4),
        ("in a group", vec![group], 80, 4),
        ("in a branch", vec![chosen], 100, 4),
        ("ahead", first, 100, 3),
    ] {
        println!("{shape}");

        let outcome = Trial::new(job("job", actions, ops(stop)), taking(&[MS])).run();

        outcome.check_conserved();
        assert_eq!((outcome.latency("read"), outcome.latency("write")), (buckets(vec![MS; 80]), buckets(vec![MS; 20])));
        // Reads of 4 KiB up to the first write, and from each to the next.
        let sizes: Vec<_> = outcome.carried_out.iter().map(|carried| carried.asked_bytes).collect();
        let writes: Vec<_> = (0..100).filter(|&at| sizes[at] == 512).collect();
        assert_eq!(writes, (0..20).map(|n| first_write + 5 * n).collect::<Vec<_>>());
    }
}

#[test]
fn the_latency_of_a_group_is_the_sum_of_its_members() {
    let group = |laps| Action::Group {
        name: "group".to_owned(),
        actions: vec![own(READ, "read", 4096.0), own(OpKind::Write, "write", 512.0), own(OpKind::Fsync, "flush", 0.0)],
        laps,
    };
    let repeated = Action::Repeat { times: 5, actions: vec![group(false)] };
    for (shape, actions) in
        [("alone", vec![group(false)]), ("with laps", vec![group(true)]), ("repeated", vec![repeated])]
    {
        println!("{shape}");

        let outcome = Trial::new(job("job", actions, ops(100)), taking(&TIMES_NS)).run();

        let [read_ns, write_ns, flush_ns] = TIMES_NS;
        outcome.check_conserved();
        assert_eq!(outcome.latency("group"), buckets(vec![read_ns + write_ns + flush_ns; 100]));
        assert_eq!(outcome.latency("read"), buckets(vec![read_ns; 100]));
        assert_eq!(outcome.latency("write"), buckets(vec![write_ns; 100]));
        assert_eq!(outcome.latency("flush"), buckets(vec![flush_ns; 100]));
        assert_eq!((outcome.stats.ops.get(), outcome.stats.completed.get()), (100, 300));
        assert_eq!((outcome.stats.bytes.get(), outcome.series("group").bytes.get()), (460_800, 460_800));
        assert_eq!((outcome.series("read").bytes.get(), outcome.series("write").bytes.get()), (409_600, 51_200));
    }
}

#[test]
fn groups_of_reads_alone_are_counted_as_any_other() {
    let group = Action::Group {
        name: "group".to_owned(),
        actions: vec![own(READ, "one", 4096.0), own(READ, "other", 512.0)],
        laps: false,
    };
    let rows = Action::Repeat { times: 8, actions: vec![group] };

    let outcome = Trial::new(job("job", vec![rows], ops(80)), taking(&[1000, 2000, 3000, 4000])).run();

    outcome.check_conserved();
    assert_eq!(outcome.latency("group"), buckets([3000, 7000].repeat(40)));
    assert_eq!(outcome.latency("one"), buckets([1000, 3000].repeat(40)));
    assert_eq!(outcome.latency("other"), buckets([2000, 4000].repeat(40)));
    assert_eq!((outcome.stats.ops.get(), outcome.stats.bytes.get()), (80, 80 * 4608));
}

#[test]
fn each_lap_is_told_with_its_end_and_its_latency() {
    let group =
        Action::Group { name: "lap".to_owned(), actions: vec![own(READ, "read", 4096.0), think(0.001)], laps: true };

    let outcome = Trial::new(job("job", vec![group], ops(50)), taking(&TIMES_NS)).run();

    let laps = outcome.laps();
    assert_eq!(laps.len(), 50);
    let mut end_ns = START_NS;
    for (number, lap) in (0..).zip(laps) {
        let took_ns = TIMES_NS[number % 3];
        // What it thinks is in no latency.
        end_ns += took_ns + MS;
        assert_eq!((lap.number, lap.latency_ns, lap.end_ns), (number as u64, Some(took_ns), end_ns));
    }
}

fn think(seconds: f64) -> Action {
    Action::Think { seconds: Distribution::Fixed { value: seconds }, burn: false }
}

#[test]
fn thinking_is_in_no_latency_and_takes_its_time() {
    for burn in [false, true] {
        let pause = Action::Think { seconds: Distribution::Fixed { value: 0.25 }, burn };

        let outcome = Trial::new(job("job", vec![own(READ, "read", 4096.0), pause], ops(20)), taking(&[7 * MS])).run();

        outcome.check_against_storage("read");
        // It ends where the 21st operation is not let in, which is after 20 pauses.
        assert_eq!(outcome.end_ns, START_NS + 20 * 257 * MS);
        assert_eq!(outcome.latency("read"), buckets(vec![7 * MS; 20]));
    }
}

#[test]
fn a_transfer_in_pieces_is_one_operation_of_all_their_time() {
    let mut pieces = op_on(READ, "read", own_file(), 65_536.0);
    pieces.flags.chunk_bytes = 4096;
    let mut whole = op_on(READ, "read", own_file(), 0.0);
    whole.access = Access::Whole { chunk_bytes: 4096, to_end: false };
    for op in [pieces, whole] {
        let outcome = Trial::new(job("job", vec![act(op)], ops(10)), taking(&[1000, 3000])).run();

        assert_eq!(outcome.latency("read"), buckets(vec![32_000; 10]));
        assert_eq!((outcome.stats.completed.get(), outcome.stats.submissions.get()), (10, 160));
        assert_eq!((outcome.stats.ops.get(), outcome.stats.bytes.get()), (10, 655_360));
    }
}

fn own_file() -> FileRef {
    FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None }
}

#[test]
fn short_transfers_are_counted_and_bytes_are_those_that_moved() {
    for (shape, actions) in shapes_of_one() {
        println!("{shape}");

        let model = NullModel { short: Some(4), ..taking(&TIMES_NS) };
        let outcome = Trial::new(job("job", actions, ops(400)), model).run();

        outcome.check_against_storage("read");
        // Every fourth, and those that meet the end of the file.
        assert!(outcome.stats.short_transfers.get() >= 100);
    }
}
