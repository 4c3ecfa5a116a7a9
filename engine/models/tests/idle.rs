//! Who looks at a worker's rests never sees more than there was, and all of it in the end.

use engine_models::idle::{Idle, Seen};
use engine_models::in_every_order;
use engine_models::sys::atomic::{AtomicU64, Ordering};
use engine_models::sys::shared::Shareable;
use loom::sync::Arc;
use loom::thread;

/// The rests of the model until `now_ns`: 0 to 3, and 6 to 9, where the second was to last until 1000.
fn truth_ns(now_ns: u64) -> u64 {
    now_ns.min(3) + now_ns.saturating_sub(6).min(3)
}

#[test]
fn a_rest_that_is_broken_off_is_never_seen_longer_than_it_was() {
    // With three interruptions there are 280,000 orders, which take 20 times as long.
    in_every_order(Some(2), || {
        let (idle, clock) = (Arc::new(Idle::zero()), Arc::new(AtomicU64::new(0)));
        let worker = {
            let (idle, clock) = (Arc::clone(&idle), Arc::clone(&clock));
            thread::spawn(move || {
                idle.rest(0, 3);
                clock.store(6, Ordering::Release);
                idle.rest(6, 1000);
                clock.store(9, Ordering::Release);
                idle.break_off(9);
                clock.store(20, Ordering::Release);
            })
        };
        let (mut seen, now_ns) = (Seen::default(), || clock.load(Ordering::Acquire));

        let first_ns = seen.total_ns(&idle, now_ns);
        let first_at_most_ns = truth_ns(now_ns());
        let second_ns = seen.total_ns(&idle, now_ns);
        let second_at_most_ns = truth_ns(now_ns());
        worker.join().unwrap();

        assert!(first_ns <= first_at_most_ns, "{first_ns}, {first_at_most_ns}");
        assert!(
            first_ns <= second_ns && second_ns <= second_at_most_ns,
            "{first_ns}, {second_ns}, {second_at_most_ns}"
        );
        assert_eq!(seen.total_ns(&idle, now_ns), 6);
    });
}
