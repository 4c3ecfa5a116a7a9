//! Curves and caches against lists that are searched.

use super::blocks::mix;
use super::curve::{Curve, CurveBuilder};
use super::policies::make;
use super::policies::policy_name::PolicyName;
use super::sampled_keys::Sampling;
use std::collections::HashMap;

/// Hits of an LRU cache, by a list of the blocks in it.
fn lru_hits(keys: &[u64], blocks: usize) -> f64 {
    let mut list = Vec::new();
    let mut hits = 0;
    for key in keys {
        match list.iter().rposition(|one| one == key) {
            Some(at) => {
                hits += 1;
                list.remove(at);
            }
            None if list.len() == blocks => {
                list.remove(0);
            }
            None => {}
        }
        list.push(*key);
    }
    f64::from(hits) / keys.len() as f64
}

/// 90 % of the uses are of a tenth of the blocks.
fn hot_tenth(blocks: u64, uses: usize) -> Vec<u64> {
    let mut chance = fastrand::Rng::with_seed(3);
    let hot = blocks / 10;
    (0..uses).map(|_| if chance.u8(..10) < 9 { chance.u64(..hot) } else { chance.u64(hot..blocks) }).collect()
}

fn curve(keys: &[u64], sampling: Sampling) -> Curve {
    let mut builder = CurveBuilder::new(sampling, None);
    for &key in keys {
        let _ = builder.touch(mix(key), 0, key % 3 == 0);
    }
    builder.finish(&[990])
}

#[test]
fn an_exact_curve_has_the_hits_of_caches_that_are_simulated() {
    let keys = hot_tenth(2_000, 8_000);

    let found = curve(&keys, Sampling::Exact);

    for served in found.served.iter().step_by(7) {
        let wanted = lru_hits(&keys, served.blocks as usize);
        assert!((served.hit - wanted).abs() < 1e-9, "{served:?} {wanted}");
        assert_eq!((served.low, served.high), (served.hit, served.hit));
        let (reads, writes) = (served.read_hit.unwrap(), served.write_hit.unwrap());
        let share = keys.iter().filter(|&key| key % 3 == 0).count() as f64 / keys.len() as f64;
        assert!((reads * (1.0 - share) + writes * share - wanted).abs() < 1e-9);
    }
    let different: std::collections::HashSet<_> = keys.iter().collect();
    assert_eq!(found.footprint_blocks, different.len() as f64);
    let best = found.served.last().unwrap().hit;
    assert_eq!(best, 1.0 - different.len() as f64 / keys.len() as f64);
    let ws90 = found.ws90.unwrap().blocks as usize;
    assert!(lru_hits(&keys, ws90) >= 0.9 * best);
    assert!(lru_hits(&keys, (ws90 as f64 * 0.98) as usize) < 0.9 * best);
}

#[test]
fn a_loop_is_served_from_its_length_on_and_not_at_all_before() {
    let keys: Vec<u64> = (0..6_000).map(|use_| use_ % 1_000).collect();

    let found = curve(&keys, Sampling::Exact);

    assert!(found.served.iter().all(|one| one.hit == if one.blocks < 1_000 { 0.0 } else { 5.0 / 6.0 }));
    assert_eq!((found.asked[0].blocks, found.asked[0].hit), (990, 0.0));
    assert!((1_000.0..1_016.0).contains(&found.ws90.unwrap().blocks));
}

#[test]
fn a_sample_has_the_curve_of_all_and_its_interval_has_the_truth() {
    let keys = hot_tenth(40_000, 200_000);
    let exact = curve(&keys, Sampling::Exact);
    let truth: HashMap<u64, f64> = exact.served.iter().map(|one| (one.blocks, one.hit)).collect();

    for sampling in [Sampling::Rate(0.2), Sampling::Fixed { exact: 10_000, most: 8_192 }] {
        let found = curve(&keys, sampling);

        let common: Vec<_> = found.served.iter().filter_map(|one| Some((one, *truth.get(&one.blocks)?))).collect();
        let error = common.iter().map(|(one, hit)| (one.hit - hit).abs()).sum::<f64>() / common.len() as f64;
        let within = common.iter().filter(|(one, hit)| (one.low..=one.high).contains(hit)).count();
        assert!(common.len() > 30 && error < 0.015, "{sampling:?}: {error} of {}", common.len());
        assert!(within * 2 > common.len(), "{sampling:?}: {within} of {}", common.len());
        assert!((found.footprint_blocks / exact.footprint_blocks - 1.0).abs() < 0.05);
        assert!((found.ws90.unwrap().blocks / exact.ws90.unwrap().blocks - 1.0).abs() < 0.1);
    }
}

#[test]
fn caches_of_each_policy_serve_what_they_are_for() {
    let hits = |name: PolicyName, blocks: usize, keys: &[u64]| {
        let mut cache = make(name, blocks);
        keys.iter().filter(|&&key| cache.access(mix(key))).count() as f64 / keys.len() as f64
    };
    let all =
        [PolicyName::Lru, PolicyName::Fifo, PolicyName::Lfu, PolicyName::Arc, PolicyName::S3Fifo, PolicyName::TwoQ];
    let hot = hot_tenth(2_000, 20_000);
    // The hot set is used twice, then there is a scan of new blocks that pushes it out of an LRU cache.
    let scanned: Vec<u64> =
        (0..60).flat_map(|round| (0..100).chain(0..100).chain(1_000 * round + 1_000..1_000 * round + 1_060)).collect();

    let different = hot.iter().collect::<std::collections::HashSet<_>>().len() as f64;
    for name in all {
        assert_eq!(hits(name, 2_000, &hot), 1.0 - different / 20_000.0, "{name:?}: all fits");
        assert!(hits(name, 1, &hot) < 0.02, "{name:?}");
        assert!(hits(name, 100, &hot) < hits(name, 400, &hot), "{name:?}");
    }
    assert_eq!(hits(PolicyName::Lru, 300, &hot), lru_hits(&hot, 300));
    assert_eq!(hits(PolicyName::Lru, 150, &scanned), 100.0 / 260.0);
    for name in [PolicyName::Lfu, PolicyName::Arc, PolicyName::S3Fifo, PolicyName::TwoQ] {
        assert!(hits(name, 150, &scanned) > 0.6, "{name:?}: {}", hits(name, 150, &scanned));
    }
}
