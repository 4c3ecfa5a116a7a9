//! Each index comes out once, whoever gives and takes at the same time.

use engine_models::in_every_order;
use engine_models::index_queue::IndexQueue;
use loom::sync::Arc;
use loom::thread;

/// A queue that holds `0..held`, with room for `room`.
fn queue(room: u64, held: u64) -> Arc<IndexQueue> {
    let queue = IndexQueue::with_room_for(room).unwrap();
    queue.begin_with(0..held);
    Arc::new(queue)
}

/// What is left in it, when nobody else uses it any more.
fn rest(queue: &IndexQueue) -> impl Iterator<Item = u64> + '_ {
    std::iter::from_fn(|| queue.take())
}

#[test]
fn two_who_take_never_get_the_same() {
    in_every_order(None, || {
        let queue = queue(3, 3);
        let other = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.take())
        };

        let own = queue.take();
        let mut all: Vec<u64> = own.into_iter().chain(other.join().unwrap()).chain(rest(&queue)).collect();

        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
    });
}

#[test]
fn what_is_given_while_another_takes_comes_out_once_and_whole() {
    // Its own number, for which no slot is written, another one, and both after each other.
    for given in [&[1][..], &[0], &[1, 0], &[0, 2]] {
        in_every_order(None, move || {
            let queue = queue(4, 1);
            let giver = {
                let queue = Arc::clone(&queue);
                thread::spawn(move || given.iter().for_each(|&index| queue.give(index)))
            };

            let taken = [queue.take(), queue.take()];
            giver.join().unwrap();

            let all: Vec<u64> = taken.into_iter().flatten().chain(rest(&queue)).collect();
            assert_eq!(all, [&[0], given].concat());
        });
    }
}

#[test]
fn what_two_give_comes_out_once() {
    in_every_order(None, || {
        let queue = queue(3, 0);
        let other = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.give(1))
        };

        queue.give(0);
        let taken = queue.take();
        other.join().unwrap();

        let mut all: Vec<u64> = taken.into_iter().chain(rest(&queue)).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1]);
    });
}

#[test]
fn a_slot_that_is_written_anew_gives_neither_the_old_nor_half_of_the_new() {
    in_every_order(None, || {
        // One worker takes and gives at once, as who removes files and makes them again; there is room for two.
        let queue = queue(2, 1);
        let other = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let taken = queue.take();
                if let Some(index) = taken {
                    queue.give(index);
                }
            })
        };

        let taken = queue.take();
        if let Some(index) = taken {
            queue.give(index);
        }
        other.join().unwrap();

        assert_eq!(rest(&queue).collect::<Vec<_>>(), [0]);
    });
}

#[test]
fn who_looks_meanwhile_sees_a_number_that_it_held() {
    in_every_order(None, || {
        let queue = queue(3, 1);
        let worker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                queue.give(5);
                queue.take();
            })
        };

        let (places, held) = (queue.places(), queue.holds());
        let seen = queue.at(1);
        worker.join().unwrap();

        assert!(places.start <= places.end && places.end <= 2 && held <= 2, "{places:?}, {held}");
        assert!(matches!(seen, None | Some(5)), "{seen:?}");
    });
}
