//! Laps are handed over whole and in order, and one is missing only for want of room.

use engine_models::in_every_order;
use engine_models::laps::{Lap, Laps};
use loom::sync::Arc;
use loom::thread;

fn lap(number: u64) -> Lap {
    Lap { group: number as usize, number, end_ns: 10 * number, latency_ns: (number % 2 == 0).then_some(number) }
}

#[test]
fn a_cell_is_written_anew_only_when_it_was_taken() {
    in_every_order(None, || {
        let laps = Arc::new(Laps::with_room_for(2).unwrap());
        let worker = {
            let laps = Arc::clone(&laps);
            thread::spawn(move || (0..4).for_each(|number| laps.keep(lap(number))))
        };

        let mut taken = laps.take();
        taken.extend(laps.take());
        worker.join().unwrap();
        taken.extend(laps.take());

        assert!(taken.iter().all(|&one| one == lap(one.number)), "{taken:?}");
        assert!(taken.windows(2).all(|pair| pair[0].number < pair[1].number), "{taken:?}");
        assert_eq!(taken[..2], [lap(0), lap(1)]);
    });
}
