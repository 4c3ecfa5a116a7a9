//! The hit ratio of an LRU cache by its size, from reuse distances of all blocks or of a sample of them.
//!
//! SHARDS (Waldspurger et al., FAST '15): where a share R of the keys is looked at, a reuse counts 1/R times, and d
//! other sampled keys used since are d/R others. The sample rarely has R of the *uses*: their difference from what was
//! expected is added to the smallest distance (SHARDS-adj).
//!
//! The interval is from eight groups of the sampled keys, by other bits of their hashes: each group gives a curve of
//! its own. Their spread is that of samples of an eighth of the size, so that of the mean is their standard deviation
//! by the root of 8; t of 7 degrees of freedom for 95 %, and the correction for a finite population (1 - R).

use super::distances::{Distances, sizes};
use super::recency::Recency;
use super::sampled_keys::{SampledKeys, Sampling, Seen};
use super::windows::{Windows, WorkingSets};
use serde::Serialize;

/// Groups of keys that the interval is from; a power of two.
const GROUPS: usize = 8;
/// Student's t for 95 % at `GROUPS - 1` degrees of freedom.
const T: f64 = 2.365;
/// Sampled blocks of the smallest size that a sample resolves: below, one block that is used very often, and is in the
/// sample or not, decides.
const LEAST_SAMPLED: f64 = 16.0;
/// Share of the best hit ratio at the size called ws90.
const MOST_OF_BEST: f64 = 0.9;

/// A size, and what a cache of it serves.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Served {
    /// Size in blocks.
    pub blocks: u64,
    /// Share of all accesses that hit.
    pub hit: f64,
    /// Share of reads that hit; None without any.
    pub read_hit: Option<f64>,
    /// Share of writes that hit; None without any.
    pub write_hit: Option<f64>,
    /// Lower end of the 95 % interval of `hit`.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// A size in blocks with its 95 % interval.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Blocks90 {
    /// The size.
    pub blocks: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What is known at the end of a trace.
#[derive(Debug, Serialize)]
pub struct Curve {
    /// Share of the keys that was looked at, at the end.
    pub rate: f64,
    /// Keys in the sample at the end.
    pub sampled_keys: usize,
    /// Different blocks.
    pub footprint_blocks: f64,
    /// Sizes from the smallest that the sample can resolve up to the first that misses nothing but first uses.
    pub served: Vec<Served>,
    /// The sizes that were asked for, each rounded up to the end of a bucket: by 1.6 % at most.
    pub asked: Vec<Served>,
    /// Smallest size with 90 % of the best hit ratio; None where nothing is used twice.
    pub ws90: Option<Blocks90>,
    /// The working set over time.
    pub windows: Vec<Windows>,
    /// Whether windows are missing at the end.
    pub windows_are_cut: bool,
}

/// Reuse distances of one group of keys.
#[derive(Debug, Default, Clone)]
struct Reuses {
    by_kind: [Distances; 2],
    /// Weight of all uses, first ones too.
    uses: [f64; 2],
}

impl Reuses {
    /// Share of accesses of one kind (0 read, 1 write) that a cache serves, and accesses.
    fn hits(&self, kind: usize, below: f64, accesses: f64) -> f64 {
        (below + accesses - self.uses[kind]).clamp(0.0, accesses)
    }
}

/// One of the groups that the interval is from.
#[derive(Debug, Default)]
struct Group {
    recency: Recency,
    distances: Distances,
    uses: f64,
}

/// What is kept of a sampled key.
#[derive(Debug, Clone, Copy, Default)]
struct Key {
    time_ns: u64,
    hash: u64,
}

/// Builds the curve, access by access.
#[derive(Debug)]
pub struct CurveBuilder {
    keys: SampledKeys,
    of_keys: Vec<Key>,
    recency: Recency,
    reuses: Reuses,
    groups: Option<Box<[Group; GROUPS]>>,
    accesses: [u64; 2],
    sets: Option<WorkingSets>,
    weight: f64,
}

impl CurveBuilder {
    /// Nothing has been used. `origin_ns`: where windows begin; None where the trace has no times.
    pub fn new(sampling: Sampling, origin_ns: Option<u64>) -> Self {
        let keys = SampledKeys::new(sampling);
        let groups = (keys.rate() < 1.0).then(Box::default);
        let weight = 1.0 / keys.rate();
        Self {
            keys,
            of_keys: Vec::new(),
            recency: Recency::default(),
            reuses: Reuses::default(),
            groups,
            accesses: [0; 2],
            sets: origin_ns.map(WorkingSets::new),
            weight,
        }
    }

    /// Keys that are looked at now.
    pub fn sampled_keys(&self) -> usize {
        self.keys.count()
    }

    /// A block is used: what share of it counts, and how many others were used since, where that is known.
    #[inline]
    pub fn touch(&mut self, hash: u64, time_ns: u64, is_write: bool) -> Option<Use> {
        self.accesses[usize::from(is_write)] += 1;
        if self.keys.has(hash) { Some(self.touch_sampled(hash, time_ns, is_write)) } else { None }
    }

    fn touch_sampled(&mut self, hash: u64, time_ns: u64, is_write: bool) -> Use {
        let (seen, kind, weight) = (self.keys.look_up(hash), usize::from(is_write), self.weight);
        let (Seen::Again(number) | Seen::First(number)) = seen;
        let others = self.recency.touch(number).map(|others| (others as f64 * weight) as u64);
        self.reuses.uses[kind] += weight;
        if let Some(others) = others {
            self.reuses.by_kind[kind].add(others, weight);
        }
        if let Some(groups) = &mut self.groups {
            groups[group_of(hash)].touch(number, weight * GROUPS as f64);
        }
        if number as usize >= self.of_keys.len() {
            self.of_keys.resize(number as usize + 1, Key::default());
        }
        let key = &mut self.of_keys[number as usize];
        if let Some(sets) = &mut self.sets {
            sets.add(others.map(|_| key.time_ns), time_ns, weight);
        }
        *key = Key { time_ns, hash };
        if matches!(seen, Seen::First(_)) {
            self.make_room();
        }
        Use { weight, others }
    }

    /// Let keys leave where there are too many; the first time, from then on there are groups.
    fn make_room(&mut self) {
        let left = self.keys.make_room();
        if left.is_empty() {
            return;
        }
        for &number in left {
            self.recency.remove(number);
            if let Some(groups) = &mut self.groups {
                groups[group_of(self.of_keys[number as usize].hash)].recency.remove(number);
            }
        }
        self.weight = 1.0 / self.keys.rate();
        if self.groups.is_none() {
            // All was exact until now, so each group begins with what all have.
            let mut groups: Box<[Group; GROUPS]> = Box::default();
            for group in groups.iter_mut() {
                group.distances = Distances::sum(&self.reuses.by_kind);
                group.uses = self.reuses.uses.iter().sum();
            }
            for number in self.recency.keys() {
                groups[group_of(self.of_keys[number as usize].hash)].recency.touch(number);
            }
            self.groups = Some(groups);
        }
    }

    /// Work the curve out, also at the sizes asked for.
    pub fn finish(self, asked: &[u64]) -> Curve {
        let rate = self.keys.rate();
        let footprint_blocks = self.keys.count() as f64 / rate;
        let served = self.served(rate, footprint_blocks);
        let asked = asked.iter().filter(|_| self.total() > 0.0).map(|&blocks| self.served_by(blocks)).collect();
        let ws90 = self.ws90();
        let (windows, windows_are_cut) = self.sets.map_or((Vec::new(), false), WorkingSets::finish);
        Curve { rate, sampled_keys: self.keys.count(), footprint_blocks, served, asked, ws90, windows, windows_are_cut }
    }

    fn total(&self) -> f64 {
        self.accesses.iter().sum::<u64>() as f64
    }

    fn served(&self, rate: f64, footprint: f64) -> Vec<Served> {
        if self.total() == 0.0 {
            return Vec::new();
        }
        let least = if rate < 1.0 { LEAST_SAMPLED / rate } else { 1.0 };
        let mut served = Vec::new();
        for blocks in sizes().skip_while(|&blocks| (blocks as f64) < least) {
            served.push(self.served_by(blocks));
            if blocks as f64 >= footprint {
                break;
            }
        }
        served
    }

    fn served_by(&self, blocks: u64) -> Served {
        let hits = [0, 1]
            .map(|kind| self.reuses.hits(kind, self.reuses.by_kind[kind].below(blocks), self.accesses[kind] as f64));
        let share = |kind: usize| (self.accesses[kind] > 0).then(|| hits[kind] / self.accesses[kind] as f64);
        let hit = (hits[0] + hits[1]) / self.total();
        let half = self.half_width(|group| group.hit(blocks, self.total()));
        Served {
            blocks,
            hit,
            read_hit: share(0),
            write_hit: share(1),
            low: (hit - half).max(0.0),
            high: (hit + half).min(1.0),
        }
    }

    /// Half the 95 % interval of what each group estimates.
    fn half_width(&self, of: impl Fn(&Group) -> f64) -> f64 {
        let Some(groups) = &self.groups else { return 0.0 };
        let values = groups.each_ref().map(of);
        let mean = values.iter().sum::<f64>() / GROUPS as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (GROUPS as f64 - 1.0);
        T * (variance / GROUPS as f64 * (1.0 - self.keys.rate())).sqrt()
    }

    fn ws90(&self) -> Option<Blocks90> {
        let all = Distances::sum(&self.reuses.by_kind);
        let blocks = smallest(&all, self.reuses.uses.iter().sum(), self.total())? as f64;
        let half = self.half_width(|group| {
            smallest(&group.distances, group.uses, self.total()).map_or(0.0, |blocks| (blocks as f64).ln())
        });
        Some(Blocks90 { blocks, low: blocks * (-half).exp(), high: blocks * half.exp() })
    }
}

/// A use of a block that is in the sample.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// Uses that it represents.
    pub weight: f64,
    /// Other blocks used since its last use; None if this is its first.
    pub others: Option<u64>,
}

impl Group {
    fn touch(&mut self, number: u32, weight: f64) {
        self.uses += weight;
        if let Some(others) = self.recency.touch(number) {
            self.distances.add((others as f64 * weight) as u64, weight);
        }
    }

    fn hit(&self, blocks: u64, accesses: f64) -> f64 {
        ((self.distances.below(blocks) + accesses - self.uses) / accesses).clamp(0.0, 1.0)
    }
}

/// The smallest size with 90 % of the hits that there can be.
fn smallest(distances: &Distances, uses: f64, accesses: f64) -> Option<u64> {
    let best = distances.total() + accesses - uses;
    if best <= 0.0 {
        return None;
    }
    distances.reaching(MOST_OF_BEST * best - (accesses - uses))
}

fn group_of(hash: u64) -> usize {
    hash as usize % GROUPS
}
