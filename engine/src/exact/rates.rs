//! Schedules of arrivals, and rates that are not to be passed.

use super::plans::job;
use super::{MS, NullModel, Outcome, START_NS, Trial, buckets, ops, own, seconds, taking};
use crate::events::StoppedBy;
use crate::plan::{Action, Arrival, Distribution, Job, OpKind, RateLimit, Spacing, TokenUnit};

fn reads(for_s: f64) -> Job {
    job("job", vec![own(OpKind::Read, "read", 4096.0)], seconds(for_s))
}

fn scheduled(rate_per_s: f64, for_s: f64) -> Job {
    Job { arrival: Arrival::Open { rate_per_s, spacing: Spacing::Uniform }, ..reads(for_s) }
}

/// Arrivals that were issued, of these late, and due without being issued.
fn arrivals(outcome: &Outcome) -> (u64, u64, u64) {
    let stats = &outcome.stats;
    (stats.arrivals.get(), stats.missed.get(), stats.unissued.get())
}

#[test]
fn response_times_count_the_wait_for_a_stalled_device() {
    let stall = START_NS + 1000 * MS..START_NS + 1500 * MS;
    let model = NullModel { stall, ..taking(&[0]) };

    let outcome = Trial::new(scheduled(1000.0, 2.0), model).run();

    // A quarter of the arrivals meet the stall and wait between 0 and 0.5 s, evenly; one of them on the device.
    outcome.check_against_storage("read");
    let waits = (1..=500).map(|k| k * MS);
    assert_eq!(outcome.response("read"), buckets(waits.chain(vec![0; 1500])));
    assert_eq!(outcome.latency("read"), buckets([500 * MS].into_iter().chain(vec![0; 1999])));
    // Of those, the last is issued when the next is due, and the first was in time.
    assert_eq!(arrivals(&outcome), (2000, 498, 0));
}

#[test]
fn response_times_of_a_queue_count_the_wait_for_a_place_in_it() {
    let stall = START_NS + 1000 * MS..START_NS + 1500 * MS;
    let model = NullModel { stall, ..taking(&[0]) };

    let outcome = Trial::new(scheduled(1000.0, 2.0), model).queued(4).run();

    outcome.check_against_storage("read");
    assert_eq!(outcome.response("read"), buckets((1..=500).map(|k| k * MS).chain(vec![0; 1500])));
    assert_eq!(outcome.latency("read"), buckets((497..=500).map(|k| k * MS).chain(vec![0; 1996])));
    assert_eq!(arrivals(&outcome), (2000, 495, 0));
}

#[test]
fn arrivals_that_storage_cannot_keep_up_with_wait_longer_each_time_and_the_rest_is_asked() {
    let outcome = Trial::new(scheduled(1000.0, 1.0), taking(&[4 * MS])).run();

    // One begins every 4 ms, and the k-th was due k ms from the start.
    outcome.check_against_storage("read");
    assert_eq!(outcome.response("read"), buckets((0..250).map(|k| 4 * MS + 3 * k * MS)));
    assert_eq!(arrivals(&outcome), (250, 249, 750));
    assert_eq!(outcome.ended.stopped_by, StoppedBy::Time);
}

#[test]
fn storage_that_keeps_up_has_responses_of_its_latency() {
    for depth in [1, 4] {
        let trial = Trial::new(scheduled(1000.0, 0.5), taking(&[MS / 4]));

        let outcome = if depth == 1 { trial.run() } else { trial.queued(depth).run() };

        outcome.check_against_storage("read");
        assert_eq!(outcome.response("read"), buckets(vec![MS / 4; 500]));
        assert_eq!(arrivals(&outcome), (500, 0, 0));
        assert_eq!(outcome.stats.first_op_ns.get(), START_NS);
        assert_eq!(outcome.stats.last_op_ns.get(), START_NS + 499 * MS + MS / 4);
        // 1 - rate x latency, and the last gap is cut by the end of time.
        assert_eq!(outcome.idle_ns(), 500 * MS * 3 / 4);
    }
}

#[test]
fn a_worker_rests_while_nothing_of_it_is_in_flight() {
    let rest_of = |arrivals: f64, latency_ns: u64, depth: u32| {
        let trial = Trial::new(scheduled(arrivals, 1.0), taking(&[latency_ns]));
        if depth == 1 { trial.run() } else { trial.queued(depth).run() }.idle_ns()
    };

    assert_eq!(rest_of(100.0, 9 * MS, 1), 100 * MS);
    assert_eq!(rest_of(100.0, 9 * MS, 8), 100 * MS);
    // Its arrivals overlap: the one before is in flight while it waits for the next.
    assert_eq!(rest_of(100.0, 15 * MS, 8), 0);
    // It is late for good.
    assert_eq!(rest_of(100.0, 15 * MS, 1), 0);
}

#[test]
fn a_worker_of_a_closed_loop_rests_in_thought_and_for_a_rate_alone() {
    let think = |burn| Action::Think { seconds: Distribution::Fixed { value: 0.003 }, burn };
    let token = Action::Token {
        bucket: "rate".to_owned(),
        rate_per_s: 100.0,
        unit: TokenUnit::Event,
        operation: String::new(),
    };
    let read = || own(OpKind::Read, "read", 4096.0);
    let rest_of = |actions: Vec<Action>| {
        let outcome = Trial::new(job("job", actions, ops(100)), taking(&[MS])).run();
        assert_eq!(outcome.stats.ops.get(), 100);
        outcome.idle_ns()
    };

    assert_eq!(rest_of(vec![read()]), 0);
    // Also after the last read, whose successor is what the limit does not admit.
    assert_eq!(rest_of(vec![read(), think(false)]), 300 * MS);
    assert_eq!(rest_of(vec![read(), think(true)]), 0);
    // The first token is free; from then on one comes every 10 ms, in which a read takes one.
    assert_eq!(rest_of(vec![token, read()]), 100 * 9 * MS);
}

#[test]
fn workers_share_a_schedule_out_evenly() {
    let mut shared = scheduled(1000.0, 1.0);
    shared.workers = 4;

    let outcomes = Trial::new(shared, taking(&[0])).run_all(4);

    for (worker, outcome) in (0..).zip(&outcomes) {
        assert_eq!(arrivals(outcome), (250, 0, 0));
        let came: Vec<u64> = outcome.carried_out.iter().map(|carried| carried.came_ns).collect();
        assert_eq!(came, (0..250).map(|k| START_NS + (4 * k + worker) * MS).collect::<Vec<_>>());
    }
}

#[test]
fn poisson_arrivals_are_all_issued_or_told_and_respond_no_sooner_than_storage() {
    let arrival = Arrival::Open { rate_per_s: 1000.0, spacing: Spacing::Poisson };

    let outcome = Trial::new(Job { arrival, ..reads(10.0) }, taking(&[MS])).run();

    outcome.check_against_storage("read");
    let (issued, _, unissued) = arrivals(&outcome);
    assert_eq!(issued, outcome.stats.ops.get());
    // As many as its mean says, by five standard deviations.
    assert!((issued + unissued).abs_diff(10_000) < 500, "{issued} {unissued}");
    let (response, latency) = (outcome.response("read"), outcome.latency("read"));
    assert_eq!(response.count.iter().sum::<u64>(), issued);
    assert!(response.sum_ns > latency.sum_ns && response.index[0] == latency.index[0]);
}

#[test]
fn a_rate_that_is_not_to_be_passed_holds_a_loop_back_and_its_latencies_stay_those_of_storage() {
    let limits = [
        RateLimit { ops_per_s: Some(100.0), bytes_per_s: None },
        RateLimit { ops_per_s: None, bytes_per_s: Some(409_600.0) },
        RateLimit { ops_per_s: Some(100.0), bytes_per_s: Some(1e9) },
    ];
    for limit in limits {
        let outcome = Trial::new(Job { limit, ..reads(2.0) }, taking(&[MS])).run();

        outcome.check_against_storage("read");
        assert_eq!(outcome.latency("read"), buckets(vec![MS; outcome.carried_out.len()]));
        // 10 ms are worth one read, and as much may be caught up: the start is paid for in advance by that.
        let came: Vec<u64> = outcome.carried_out.iter().map(|carried| carried.came_ns - START_NS).collect();
        assert_eq!(came.len(), 200);
        assert!((1..200).all(|k| came[k] == k as u64 * 10 * MS), "{came:?}");
        assert_eq!(outcome.response("read"), buckets([]));
        assert_eq!(outcome.idle_ns(), 2000 * MS - 200 * MS);
    }
}
