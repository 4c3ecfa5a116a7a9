//! Who waits for a semaphore is woken, what is taken was given, and a bucket's tokens are paid for once.

use engine_models::coordination::{Coordination, Names};
use engine_models::in_every_order;
use engine_models::plan::Phase;
use loom::sync::Arc;
use loom::thread;
use serde_json::{Value, json};

/// The coordination of a phase with this many workers, a semaphore that holds `initial`, and a bucket of one token a microsecond.
fn coordination(initial: u64, workers: u32) -> Coordination {
    let never = json!({"seconds": null, "ops": null, "bytes": null, "passes": null, "of": "each"});
    let job = json!({
        "name": "job", "workers": workers, "as": "thread", "arrival": {"kind": "closed"}, "backend": {"kind": "psync"},
        "queue_depth": 1, "affinity": {"cpus": [], "numa_node": null}, "timed": [], "stop": never,
        "limit": {"ops_per_s": null, "bytes_per_s": null},
        "open": {"direct": "off", "sync": false, "dsync": false, "append": false, "no_access_time": false, "advice": ""},
        "body": {"kind": "loop", "actions": [
            {"kind": "wait", "semaphore": "turn", "count": 1, "initial": initial},
            {"kind": "token", "bucket": "rate", "rate_per_s": 1e6, "unit": "event", "operation": ""},
        ]},
    });
    let phase: Value = json!({
        "name": "phase", "title": "phase", "repeat": 0, "cache": "as_is", "ramp_s": 0.0, "before": [], "after": [],
        "jobs": [job], "stop": never,
    });
    let phase: Phase = serde_json::from_value(phase).unwrap();
    let coordination = Coordination::new(&Names::of(&phase).unwrap()).unwrap();
    coordination.join(workers);
    coordination
}

fn go_on() -> Result<(), ()> {
    Ok(())
}

#[test]
fn who_waits_for_what_another_gives_is_woken() {
    in_every_order(None, || {
        let shared = Arc::new(coordination(0, 2));
        let giver = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.post(0, 1))
        };

        shared.wait(0, 1, go_on).unwrap();

        giver.join().unwrap();
    });
}

#[test]
fn of_two_who_take_the_last_one_waits_for_the_next() {
    // Three threads that wait for each other have too many orders: those with at most three interruptions are tried.
    in_every_order(Some(3), || {
        let shared = Arc::new(coordination(1, 3));
        let takers = [0, 1].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.wait(0, 1, go_on).unwrap())
        });

        shared.post(0, 1);

        takers.into_iter().for_each(|taker| taker.join().unwrap());
    });
}

#[test]
fn tokens_are_paid_for_once() {
    in_every_order(None, || {
        let shared = Arc::new(coordination(0, 2));
        shared.begin(5000);
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.take_tokens(0, 1.0, 5000))
        };

        let mut due_ns = [shared.take_tokens(0, 1.0, 5000), other.join().unwrap()];

        due_ns.sort_unstable();
        assert_eq!(due_ns, [5000, 6000]);
    });
}
