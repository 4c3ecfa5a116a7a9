//! Storage that fails.

use super::plans::{act, job, on_set};
use super::{MS, NullModel, Trial, buckets, ops, own, taking};
use crate::events::StoppedBy;
use crate::plan::{Action, OpKind};

fn shapes() -> Vec<Vec<Action>> {
    vec![vec![own(OpKind::Read, "read", 4096.0)], vec![act(on_set(OpKind::Read, "read", 4096.0, None))]]
}

fn failing(every: usize, errno: i32) -> NullModel {
    NullModel { failing: Some((every, errno)), ..taking(&[MS]) }
}

#[test]
fn failures_are_counted_by_operation_and_number_and_are_in_no_latency() {
    for actions in shapes() {
        for depth in [1, 4] {
            let trial = Trial::new(job("job", actions.clone(), ops(700)), failing(7, libc::EIO));

            let outcome = if depth == 1 { trial.run() } else { trial.queued(depth).run() };

            outcome.check_against_storage("read");
            assert_eq!((outcome.stats.started.get(), outcome.stats.failed.get()), (700, 100));
            assert_eq!((outcome.stats.ops.get(), outcome.stats.bytes.get()), (600, 600 * 4096));
            assert_eq!(outcome.errors, [("read".to_owned(), libc::EIO, 100)]);
            assert_eq!((outcome.ended.stopped_by, &outcome.ended.fatal), (StoppedBy::Ops, &None));
        }
    }
}

#[test]
fn a_failure_that_leaves_nothing_to_go_on_with_ends_a_worker_at_once() {
    for actions in shapes() {
        for errno in [libc::ENOSPC, libc::EOPNOTSUPP] {
            let outcome = Trial::new(job("job", actions.clone(), ops(700)), failing(50, errno)).run();

            outcome.check_against_storage("read");
            assert_eq!((outcome.stats.ops.get(), outcome.stats.failed.get()), (49, 1));
            assert_eq!(outcome.ended.stopped_by, StoppedBy::Error);
            assert_eq!(outcome.ended.fatal.as_ref().map(|(_, errno)| *errno), Some(errno));
        }
    }
}

#[test]
fn a_thousand_failures_in_a_row_are_enough() {
    for actions in shapes() {
        let outcome = Trial::new(job("job", actions, ops(5000)), failing(1, libc::EIO)).run();

        outcome.check_against_storage("read");
        assert_eq!((outcome.ended.stopped_by, outcome.stats.failed.get()), (StoppedBy::Error, 1000));
    }
}

#[test]
fn what_is_in_flight_at_a_failure_that_ends_a_worker_is_waited_for() {
    for actions in shapes() {
        let model = NullModel { width: 1, ..failing(10, libc::ENOSPC) };

        let outcome = Trial::new(job("job", actions, ops(700)), model).queued(4).run();

        outcome.check_against_storage("read");
        assert_eq!((outcome.stats.completed.get(), outcome.stats.failed.get()), (12, 1));
        assert_eq!(outcome.ended.stopped_by, StoppedBy::Error);
    }
}

#[test]
fn a_group_of_which_one_has_failed_is_an_error_and_what_came_before_is_done() {
    let actions = vec![own(OpKind::Read, "read", 4096.0), own(OpKind::Write, "write", 4096.0)];
    for laps in [false, true] {
        let group = Action::Group { name: "group".to_owned(), actions: actions.clone(), laps };

        let outcome = Trial::new(job("job", vec![group], ops(30)), failing(5, libc::EIO)).run();

        // Of five requests the last fails: pairs, of which the third is broken off where it begins or where it ends.
        outcome.check_conserved();
        let errors = outcome.stats.failed.get();
        assert_eq!(outcome.series("group").errors.get(), errors);
        assert_eq!(outcome.latency("group"), buckets(vec![2 * MS; 30 - errors as usize]));
        assert_eq!(outcome.stats.ops.get(), 30 - errors);
        assert_eq!(outcome.stats.completed.get() as usize, outcome.successes().count());
    }
}
