//! Workers with several requests in flight.

use super::plans::{act, job, on_set, set};
use super::{MS, NullModel, START_NS, Trial, buckets, ops, own, seconds, taking};
use crate::plan::{Access, Action, Arrival, Batch, Coverage, Distribution, Op, OpKind, Region, Spacing, Stop};
use proptest::prelude::*;

/// Loops that go the short way of a queue, and the long one.
fn shapes() -> Vec<(&'static str, Vec<Action>)> {
    let access = Access::Random {
        region: Region::Whole {},
        coverage: Coverage::WithRepeats,
        align_bytes: 0,
        distribution: Distribution::Uniform { min: 0.0, max: 1.0 },
    };
    let drawn = |kind| match own(kind, "io", 4096.0) {
        Action::Op { op } => act(Op { access: access.clone(), ..op }),
        other => other,
    };
    vec![
        ("reads in order", vec![own(OpKind::Read, "io", 4096.0)]),
        ("drawn reads", vec![drawn(OpKind::Read)]),
        ("writes", vec![drawn(OpKind::Write)]),
        ("files in turn", vec![act(on_set(OpKind::Read, "io", 4096.0, None))]),
        ("two in turn", vec![drawn(OpKind::Read), drawn(OpKind::Write)]),
        ("each third time", vec![drawn(OpKind::Read), Action::Every { times: 3, actions: vec![drawn(OpKind::Write)] }]),
    ]
}

#[test]
fn storage_that_works_on_all_at_once_takes_one_latency_a_batch() {
    for (shape, actions) in shapes() {
        println!("{shape}");

        let outcome = Trial::new(job("job", actions, ops(800)), taking(&[2 * MS])).queued(8).run();

        outcome.check_against_storage("io");
        assert_eq!(outcome.latency("io"), buckets(vec![2 * MS; 800]));
        assert_eq!(outcome.end_ns, START_NS + 100 * 2 * MS);
        // 8 I/Os every 2 ms, by Little's law 8 in flight.
        assert_eq!(outcome.stats.ops.get() as f64 / outcome.window_s(), 4000.0);
        assert_eq!(outcome.stats.depth_sum.get(), 8 * outcome.stats.submissions.get());
        assert_eq!(outcome.stats.reaps.get(), 100);
    }
}

#[test]
fn storage_that_works_on_one_at_a_time_makes_the_others_of_a_queue_wait() {
    for (shape, actions) in shapes() {
        println!("{shape}");

        let model = NullModel { width: 1, ..taking(&[MS]) };
        let outcome = Trial::new(job("job", actions, ops(200)), model).queued(4).run();

        outcome.check_against_storage("io");
        // The first waits for nobody, the second for one; from the fourth on, each comes when three are before it.
        assert_eq!(outcome.latency("io"), buckets((1..=200).map(|k: u64| k.min(4) * MS)));
        assert_eq!(outcome.end_ns, START_NS + 200 * MS);
    }
}

#[test]
fn the_mean_depth_of_a_queue_is_what_was_in_flight_when_each_came_back() {
    let model = NullModel { width: 1, ..taking(&[MS]) };

    let outcome = Trial::new(job("job", vec![own(OpKind::Read, "io", 4096.0)], ops(10)), model).queued(4).run();

    // Seven times one of four, then the last three.
    assert_eq!((outcome.stats.submissions.get(), outcome.stats.depth_sum.get()), (10, 7 * 4 + 3 + 2 + 1));
    assert_eq!(outcome.stats.reaps.get(), 10);
}

#[test]
fn a_wait_for_several_comes_back_with_the_last_of_them_and_takes_no_more_than_it_may() {
    let one_at_a_time = NullModel { width: 1, ..taking(&[MS]) };
    let all_at_once = taking(&[2 * MS]);
    for (model, batch, reaps, latencies) in [
        // Each waits for the one before it and, from then on, for the other of its pair.
        (
            one_at_a_time,
            Batch { complete_min: 2, ..Batch::default() },
            100,
            [vec![2, 2], vec![4; 196], vec![4, 4]].concat(),
        ),
        // What is done and not yet taken is part of the latency: nobody has heard of it.
        (all_at_once, Batch { complete_max: Some(1), ..Batch::default() }, 200, vec![2; 200]),
    ] {
        let mut trial = Trial::new(job("job", vec![own(OpKind::Read, "io", 4096.0)], ops(200)), model).queued(4);
        trial.job.batch = batch;

        let outcome = trial.run();

        outcome.check_conserved();
        assert_eq!(outcome.latency("io"), buckets(latencies.iter().map(|ms| ms * MS)));
        assert_eq!(outcome.stats.reaps.get(), reaps);
    }
}

/// Writes of a MiB, each of which is 16 ms of work for the worker.
fn laborious(stop: Stop, latency_ns: u64) -> Trial {
    let write = job("job", vec![own(OpKind::Write, "io", 1048576.0)], stop);
    let model = NullModel { work_ns_per_kib: MS / 64, ..taking(&[latency_ns]) };
    Trial { set: set(4, 1.0, 1048576.0), ..Trial::new(write, model) }
}

#[test]
fn making_content_is_in_no_latency_of_what_is_in_flight() {
    for depth in [2, 3, 16] {
        let outcome = laborious(ops(100), 20 * MS).queued(depth).run();

        outcome.check_conserved();
        let latency = outcome.latency("io");
        assert_eq!((outcome.stats.ops.get(), outcome.stats.bytes.get()), (100, 100 << 20));
        // What is done is seen after the part that is being made then, which takes 1 ms.
        assert!(latency.max_ns <= 21 * MS, "{latency:?}");
        assert!(latency.sum_ns >= 100 * 20 * MS);
        // One is made after the other, and each place waits for both.
        let each_ns = (16 * MS).max(36 * MS / u64::from(depth));
        assert!(outcome.end_ns <= START_NS + 100 * each_ns + 36 * MS, "{}", outcome.end_ns);
    }
}

#[test]
fn a_time_is_kept_where_storage_is_faster_than_the_making_of_content() {
    for depth in [2, 16] {
        let outcome = laborious(seconds(1.0), 0).queued(depth).run();

        outcome.check_conserved();
        // What is being made at the end of time goes in, and the next one, before somebody looks at the time.
        assert!(outcome.end_ns <= START_NS + 1000 * MS + 2 * 16 * MS, "{}", outcome.end_ns);
        assert!((62..=64).contains(&outcome.stats.ops.get()), "{}", outcome.stats.ops.get());
        assert_eq!(outcome.latency("io").max_ns, 0);
    }
}

#[test]
fn an_open_loop_makes_content_before_it_is_due() {
    for depth in [1, 2, 4] {
        let mut trial = laborious(ops(50), 20 * MS);
        trial.job.arrival = Arrival::Open { rate_per_s: 10.0, spacing: Spacing::Uniform };

        let outcome = if depth == 1 { trial.run() } else { trial.queued(depth).run() };

        // The first is due at the start, and made then. The others wait for storage alone.
        assert_eq!(outcome.response("io"), buckets((0..50).map(|k| if k == 0 { 36 * MS } else { 20 * MS })));
        assert_eq!(outcome.latency("io"), buckets(vec![20 * MS; 50]));
    }
}

#[test]
fn storage_of_100_us_is_measured_as_that_at_every_depth_in_both_loops() {
    // A block is made in 160 ns, at 25 GB/s: what comes back meanwhile is seen after 64 KiB of it at the latest.
    let model = NullModel { work_ns_per_kib: 40, ..taking(&[100_000]) };
    let within_5_us = 100_000..=105_000;
    for (depth, kind) in [1, 2, 32].into_iter().flat_map(|depth| [(depth, OpKind::Read), (depth, OpKind::Write)]) {
        // In the open loop, half of what it can do.
        for rate_per_s in [None, Some(5_000.0 * f64::from(depth))] {
            let mut trial = Trial::new(job("job", vec![own(kind, "io", 4096.0)], ops(6_400)), model.clone());
            if let Some(rate_per_s) = rate_per_s {
                trial.job.arrival = Arrival::Open { rate_per_s, spacing: Spacing::Uniform };
            }

            let outcome = if depth == 1 { trial.run() } else { trial.queued(depth).run() };

            let measured = if rate_per_s.is_some() { outcome.response("io") } else { outcome.latency("io") };
            let mean_ns = measured.sum_ns as u64 / 6_400;
            assert_eq!(measured.count.iter().sum::<u64>(), 6_400);
            assert!(within_5_us.contains(&mean_ns), "depth {depth}, {kind:?}, {rate_per_s:?}: mean {mean_ns} ns");
            assert!(within_5_us.contains(&measured.max_ns), "depth {depth}, {kind:?}, {rate_per_s:?}: {measured:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_storage_does_nothing_is_lost_and_each_latency_is_its_own(
        request_ns in proptest::collection::vec(0..5 * MS, 1..20),
        depth in 1..9_u32,
        width in 1..9_usize,
        fails_every in proptest::option::of(2..9_usize),
        short in proptest::option::of(2..9_usize),
        count in 1..500_u64,
        shape in 0..6_usize,
        submit in 1..10_u32,
        complete_min in 1..9_u32,
        complete_more in proptest::option::of(0..4_u32),
    ) {
        let failing = fails_every.map(|every| (every, libc::EIO));
        let model = NullModel { request_ns, width, failing, short, ..NullModel::default() };
        let (_, actions) = shapes().swap_remove(shape);
        let mut trial = Trial::new(job("job", actions, ops(count)), model);
        let complete_min = complete_min.min(depth);
        let batch = Batch { submit, complete_min, complete_max: complete_more.map(|more| complete_min + more) };
        trial.job.batch = batch;

        let outcome = if depth == 1 { trial.run() } else { trial.queued(depth).run() };

        prop_assert_eq!(outcome.carried_out.len() as u64, count);
        outcome.check_conserved();
        if batch.complete_min == 1 && batch.complete_max.is_none() {
            outcome.check_against_storage("io");
        }
    }
}
