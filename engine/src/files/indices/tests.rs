use crate::files::indices::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU8;

fn indices(most: u64, files: u64) -> Indices {
    let indices = Indices::none_of(most).unwrap();
    indices.begin_with(files);
    indices
}

fn all_of(queue: &IndexQueue) -> Vec<u64> {
    queue.places().map(|place| queue.at(place).expect("written while nobody works")).collect()
}

// -- one worker --------------------------------------------------------------------------------------------------------

#[test]
fn a_place_is_free_again_once_its_file_is_gone() {
    let indices = indices(3, 3);

    assert_eq!(indices.take_new(), Err(Unavailable::Nothing));
    assert_eq!(indices.take_existing(), Ok(0));
    assert_eq!(indices.take_new(), Err(Unavailable::Leased));
    indices.gone(0);
    assert_eq!(indices.take_new(), Ok(3));
    assert_eq!(indices.take_new(), Err(Unavailable::Leased));
    indices.made(3);
    assert_eq!((indices.take_new(), indices.existing()), (Err(Unavailable::Nothing), 1..4));
}

#[test]
fn moves_go_round_the_free_places_and_keep_the_count() {
    let indices = indices(4, 3);

    let moves: Vec<_> = (0..5)
        .map(|_| {
            let (from, to) = indices.take_move().unwrap();
            indices.gone(from);
            indices.made(to);
            (from, to)
        })
        .collect();

    assert_eq!(moves, [(0, 3), (1, 4), (2, 5), (3, 6), (4, 7)]);
    assert_eq!(indices.existing().count(), 3);
}

#[test]
fn where_all_or_none_exist_there_is_nothing_to_move() {
    assert_eq!(indices(4, 4).take_move(), Err(Unavailable::Nothing));
    assert_eq!(indices(4, 0).take_move(), Err(Unavailable::Nothing));
}

#[test]
fn what_could_not_be_made_or_removed_is_where_it_was() {
    let indices = indices(4, 2);

    indices.not_made(indices.take_new().unwrap());
    indices.not_gone(indices.take_existing().unwrap());

    assert_eq!((all_of(&indices.existing), all_of(&indices.free)), (vec![1, 0], vec![3, 2]));
}

#[test]
fn what_is_used_is_not_taken_until_its_use_ends() {
    let indices = indices(2, 2);
    let first = indices.begin_use(0).unwrap();

    assert_eq!((indices.take_existing(), indices.take_existing()), (Err(Unavailable::Leased), Ok(1)));
    assert_eq!((indices.take_existing(), indices.take_move()), (Err(Unavailable::Leased), Err(Unavailable::Leased)));
    indices.end_use(first);
    assert_eq!(indices.take_existing(), Ok(0));
}

#[test]
fn what_was_taken_is_not_used() {
    let indices = indices(2, 2);

    assert_eq!((indices.take_existing(), indices.begin_use(0), indices.begin_use(1)), (Ok(0), None, Some(1)));
    assert!(indices.uses[0].load(Ordering::Relaxed) == 0);
}

/// What one of several workers does next.
#[derive(Debug, Clone, Copy)]
enum Act {
    TakeNew,
    TakeExisting,
    TakeMove,
    Use(u64),
    /// End what it has in hand: the call succeeded, or not.
    End(bool),
}

#[derive(Debug, Clone, Copy)]
enum Hand {
    New(u64),
    Old(u64),
    Move(u64, u64),
    Use(u64),
}

fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let act = prop_oneof![
        Just(Act::TakeNew),
        Just(Act::TakeExisting),
        Just(Act::TakeMove),
        any::<u64>().prop_map(Act::Use),
        any::<bool>().prop_map(Act::End),
        any::<bool>().prop_map(Act::End),
    ];
    prop::collection::vec((0_usize..4, act), 1..400)
}

fn take(indices: &Indices, act: Act) -> Option<Hand> {
    match act {
        Act::TakeNew => indices.take_new().ok().map(Hand::New),
        Act::TakeExisting => indices.take_existing().ok().map(Hand::Old),
        Act::TakeMove => indices.take_move().ok().map(|(from, to)| Hand::Move(from, to)),
        Act::Use(draw) => {
            let places = indices.existing();
            let count = places.end - places.start;
            (count > 0).then(|| Hand::Use(indices.begin_use(places.start + draw % count).unwrap()))
        }
        Act::End(_) => None,
    }
}

fn release(indices: &Indices, hand: Hand, succeeded: bool) {
    match (hand, succeeded) {
        (Hand::New(index), true) => indices.made(index),
        (Hand::New(index), false) => indices.not_made(index),
        (Hand::Old(index), true) => indices.gone(index),
        (Hand::Old(index), false) => indices.not_gone(index),
        (Hand::Move(from, to), _) => {
            release(indices, Hand::Old(from), succeeded);
            release(indices, Hand::New(to), succeeded);
        }
        (Hand::Use(index), _) => indices.end_use(index),
    }
}

proptest! {
    /// Calls of four workers that begin and end in any order, against a directory that says which names there are.
    #[test]
    fn each_name_is_in_one_place_and_nobody_meets_another_at_it(most in 1_u64..9, share in 0.0_f64..=1.0, acts in acts()) {
        let files = (most as f64 * share) as u64;
        let indices = indices(most, files);
        let mut directory: BTreeSet<u64> = (0..files).collect();
        let mut hands: [Option<Hand>; 4] = [None; 4];

        for (worker, act) in acts {
            match (hands[worker], act) {
                (None, act) => hands[worker] = take(&indices, act),
                (Some(hand), Act::End(succeeded)) => {
                    let (made, removed) = match hand {
                        Hand::New(index) => (Some(index), None),
                        Hand::Old(index) => (None, Some(index)),
                        Hand::Move(from, to) => (Some(to), Some(from)),
                        Hand::Use(index) => {
                            prop_assert!(directory.contains(&(index % most)), "{index} was looked up and is gone");
                            (None, None)
                        }
                    };
                    if succeeded {
                        prop_assert!(made.is_none_or(|index| directory.insert(index % most)), "EEXIST {made:?}");
                        prop_assert!(removed.is_none_or(|index| directory.remove(&(index % most))), "ENOENT {removed:?}");
                    }
                    release(&indices, hand, succeeded);
                    hands[worker] = None;
                }
                _ => {}
            }
            let in_hand = hands.iter().flatten().flat_map(|hand| match *hand {
                Hand::New(index) | Hand::Old(index) => vec![index],
                Hand::Move(from, to) => vec![from, to],
                Hand::Use(_) => vec![],
            });
            let everywhere = all_of(&indices.existing).into_iter().chain(all_of(&indices.free)).chain(in_hand);
            let mut names: Vec<u64> = everywhere.map(|index| index % most).collect();
            names.sort_unstable();
            prop_assert!(names.iter().copied().eq(0..most), "{names:?}");
        }
    }
}

// -- many workers ------------------------------------------------------------------------------------------------------

const FREE: u8 = 0;
const THERE: u8 = 1;

/// A directory whose calls fail as a file system's do.
struct Directory(Vec<AtomicU8>);

impl Directory {
    fn change(&self, index: u64, from: u8, to: u8) {
        let name = &self.0[index as usize % self.0.len()];
        let changed = name.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        assert!(changed.is_ok(), "index {index} goes from {from} to {to}, and is {changed:?}");
        std::thread::yield_now();
    }

    fn look_up(&self, index: u64) {
        for _ in 0..2 {
            let found = self.0[index as usize % self.0.len()].load(Ordering::SeqCst);
            assert_eq!(found, THERE, "index {index} is in use and gone");
            std::thread::yield_now();
        }
    }
}

/// Take, looking again while others have what is wanted.
fn wait_for<T>(take: impl Fn() -> Result<T, Unavailable>) -> T {
    loop {
        match take() {
            Ok(taken) => return taken,
            Err(Unavailable::Leased) => std::thread::yield_now(),
            Err(Unavailable::Nothing) => panic!("there is always one, in some hand or other"),
        }
    }
}

fn work(indices: &Indices, directory: &Directory, turns: u64) {
    for turn in 0..turns {
        let new = wait_for(|| indices.take_new());
        if turn % 7 == 0 {
            indices.not_made(new);
            continue;
        }
        directory.change(new, FREE, THERE);
        indices.made(new);

        let used = wait_for(|| {
            let places = indices.existing();
            let count = places.end - places.start;
            indices.begin_use(places.start + turn % count.max(1)).ok_or(Unavailable::Leased)
        });
        directory.look_up(used);
        indices.end_use(used);

        let (from, to) = wait_for(|| indices.take_move());
        directory.change(to, FREE, THERE);
        directory.change(from, THERE, FREE);
        indices.gone(from);
        indices.made(to);

        let old = wait_for(|| indices.take_existing());
        directory.change(old, THERE, FREE);
        indices.gone(old);
    }
}

#[test]
fn threads_meet_at_no_name_and_lose_none() {
    // For each worker one file that it made and one name that it moves to.
    for (workers, most) in [(2, 4), (4, 8), (8, 300)] {
        let indices = indices(most, 0);
        let directory = Directory((0..most).map(|_| AtomicU8::new(FREE)).collect());

        std::thread::scope(|scope| {
            (0..workers).for_each(|_| _ = scope.spawn(|| work(&indices, &directory, 5000)));
        });

        assert!(indices.existing().is_empty());
        let names: BTreeSet<u64> = all_of(&indices.free).iter().map(|index| index % most).collect();
        assert_eq!((names.len() as u64, indices.free.holds()), (most, most));
        assert!(directory.0.iter().all(|name| name.load(Ordering::SeqCst) == FREE));
        assert!(indices.uses.iter().all(|uses| uses.load(Ordering::SeqCst) == 0));
    }
}

#[test]
fn every_index_is_created_once_and_deleted_once_by_many_threads() {
    let indices = indices(20_000, 0);
    let taken = std::sync::Mutex::new((Vec::new(), Vec::new()));

    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (mut new, mut old) = (Vec::new(), Vec::new());
                loop {
                    match indices.take_new() {
                        Ok(index) => {
                            indices.made(index);
                            new.push(index);
                            if index % 2 == 0 {
                                let index = wait_for(|| indices.take_existing());
                                indices.gone(index);
                                old.push(index);
                            }
                        }
                        Err(Unavailable::Leased) => std::thread::yield_now(),
                        Err(Unavailable::Nothing) => break,
                    }
                }
                let mut all = taken.lock().unwrap();
                all.0.extend(new);
                all.1.extend(old);
            });
        }
    });

    let (new, mut old) = taken.into_inner().unwrap();
    let made: BTreeSet<u64> = new.iter().copied().collect();
    assert_eq!(made.len(), new.len(), "no index comes twice");
    old.extend(std::iter::from_fn(|| indices.take_existing().ok()));
    let gone: BTreeSet<u64> = old.iter().copied().collect();
    assert_eq!((gone.len(), &gone), (old.len(), &made));
}
