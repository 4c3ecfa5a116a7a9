//! What fast storage of a share of the capacity would serve: devices or extents moved by the day before, or a cache of
//! blocks.
//!
//! A tier moves data once a period, by what the period before used most: whole devices, or extents. A cache of the same
//! size (LRU, in blocks) takes what is used as it is used. All three are given in shares of the accesses to blocks,
//! each period.

use super::TraceError;
use super::curve::Use;
use super::distances::Distances;
use super::request::TraceRequest;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Periods, and extents of all periods, that are kept.
const MOST_PERIODS: usize = 10_000;
const MOST_EXTENTS: usize = 10_000_000;
/// Bits of an extent's key that number extents; the others number the device.
const EXTENT_BITS: u32 = 48;

/// A question about tiers.
#[derive(Debug, Clone, Copy)]
pub struct TierQuestion {
    /// Share of the capacity that is fast.
    pub fraction: f64,
    /// Length of a period.
    pub period_ns: u64,
    /// Bytes of an extent.
    pub extent_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
}

/// What fast storage serves in one period.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TierPeriod {
    /// Since the origin of the times.
    pub begin_ns: u64,
    /// Blocks read or written.
    pub accesses: u64,
    /// Share of the accesses that were to the same extents as in the period before; None in the first.
    pub alike: Option<f64>,
    /// Share that devices served, moved by the period before; None in the first.
    pub devices: Option<f64>,
    /// The same of extents.
    pub extents: Option<f64>,
    /// Share that the cache served.
    pub cache: f64,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct Tiers {
    /// Bytes up to the highest end that any request had, of all devices, in whole extents.
    pub capacity_bytes: u64,
    /// Bytes of fast storage.
    pub fast_bytes: u64,
    /// Periods with requests.
    pub periods: Vec<TierPeriod>,
}

/// What one period used.
#[derive(Debug, Default)]
struct Heat {
    number: u64,
    accesses: u64,
    extents: BTreeMap<u64, u64>,
    reuses: Distances,
    sampled: f64,
}

/// Counts by period.
#[derive(Debug)]
pub struct TierCounts {
    question: TierQuestion,
    origin_ns: u64,
    periods: Vec<Heat>,
    extents: usize,
    ends: HashMap<u16, u64>,
}

impl TierCounts {
    /// Periods begin at multiples of their length after `origin_ns`.
    pub fn new(question: TierQuestion, origin_ns: u64) -> Self {
        Self { question, origin_ns, periods: Vec::new(), extents: 0, ends: HashMap::new() }
    }

    /// A request; times do not decrease.
    ///
    /// # Errors
    ///
    /// There are more periods or extents than are kept.
    pub fn add(&mut self, request: &TraceRequest) -> Result<(), TraceError> {
        let TierQuestion { period_ns, extent_bytes, block_bytes, .. } = self.question;
        let number = request.time_ns.saturating_sub(self.origin_ns) / period_ns;
        if self.periods.last().is_none_or(|heat| heat.number != number) {
            if self.periods.len() == MOST_PERIODS {
                return Err(TraceError::Input(format!(
                    "the trace has more than {MOST_PERIODS} periods; take longer ones"
                )));
            }
            self.periods.push(Heat { number, ..Heat::default() });
        }
        let Some(heat) = self.periods.last_mut() else { return Ok(()) };
        let last = request.offset.saturating_add(u64::from(request.length).saturating_sub(1));
        let end = self.ends.entry(request.device).or_default();
        *end = last.saturating_add(1).max(*end);
        let (first_block, last_block) = (request.offset / block_bytes, last / block_bytes);
        heat.accesses += last_block - first_block + 1;
        let blocks_of_extent = extent_bytes / block_bytes;
        for extent in first_block / blocks_of_extent..=last_block / blocks_of_extent {
            let begin = first_block.max(extent * blocks_of_extent);
            let end = last_block.min((extent + 1) * blocks_of_extent - 1);
            let count = heat.extents.entry(u64::from(request.device) << EXTENT_BITS | extent).or_insert_with(|| {
                self.extents += 1;
                0
            });
            *count += end - begin + 1;
        }
        if self.extents > MOST_EXTENTS {
            return Err(TraceError::Input(format!("the trace has more than {MOST_EXTENTS} extents; take larger ones")));
        }
        Ok(())
    }

    /// A sampled block of the last request.
    pub fn add_use(&mut self, of: Use) {
        if let Some(heat) = self.periods.last_mut() {
            heat.sampled += of.weight;
            if let Some(others) = of.others {
                heat.reuses.add(others, of.weight);
            }
        }
    }

    /// Work the shares out.
    pub fn finish(self) -> Tiers {
        let TierQuestion { fraction, period_ns, extent_bytes, block_bytes } = self.question;
        let sizes: HashMap<u16, u64> =
            self.ends.iter().map(|(&device, end)| (device, end.div_ceil(extent_bytes) * extent_bytes)).collect();
        let capacity_bytes = sizes.values().sum();
        let fast_bytes = (fraction * capacity_bytes as f64) as u64;
        let mut periods = Vec::new();
        let mut before: Option<&Heat> = None;
        for heat in &self.periods {
            // What was used in a period that is not the one right before moves nothing; it is still what is known last.
            let total = heat.accesses as f64;
            let cached = heat.reuses.below(fast_bytes / block_bytes) + total - heat.sampled;
            periods.push(TierPeriod {
                begin_ns: heat.number * period_ns,
                accesses: heat.accesses,
                alike: before.map(|before| alike(before, heat)),
                devices: before.map(|before| by_devices(before, heat, &sizes, fast_bytes)),
                extents: before.map(|before| by_extents(before, heat, fast_bytes / extent_bytes)),
                cache: (cached / total).clamp(0.0, 1.0),
            });
            before = Some(heat);
        }
        Tiers { capacity_bytes, fast_bytes, periods }
    }
}

/// The part of two distributions over extents that is common to both.
fn alike(before: &Heat, heat: &Heat) -> f64 {
    let share = |count: u64, of: &Heat| count as f64 / of.accesses as f64;
    heat.extents
        .iter()
        .filter_map(|(extent, &count)| {
            before.extents.get(extent).map(|&then| share(count, heat).min(share(then, before)))
        })
        .sum()
}

/// The share of whole devices, those with the most accesses per byte first, as far as they fit.
fn by_devices(before: &Heat, heat: &Heat, sizes: &HashMap<u16, u64>, fast_bytes: u64) -> f64 {
    let (then, now) = (of_devices(before), of_devices(heat));
    let mut by_heat: Vec<(f64, u16)> =
        then.iter().map(|(&device, &count)| (count as f64 / sizes[&device] as f64, device)).collect();
    by_heat.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let (mut left, mut served) = (fast_bytes, 0);
    for (_, device) in by_heat {
        if sizes[&device] <= left {
            left -= sizes[&device];
            served += now.get(&device).copied().unwrap_or(0);
        }
    }
    served as f64 / heat.accesses as f64
}

fn of_devices(heat: &Heat) -> HashMap<u16, u64> {
    let mut devices = HashMap::new();
    for (key, count) in &heat.extents {
        *devices.entry((key >> EXTENT_BITS) as u16).or_default() += count;
    }
    devices
}

fn by_extents(before: &Heat, heat: &Heat, fit: u64) -> f64 {
    let mut by_heat: Vec<(u64, u64)> = before.extents.iter().map(|(&extent, &count)| (count, extent)).collect();
    by_heat.sort_unstable_by(|one, other| other.cmp(one));
    let served: u64 =
        by_heat.iter().take(fit as usize).filter_map(|(_, extent)| heat.extents.get(extent)).copied().sum();
    served as f64 / heat.accesses as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const DAY: u64 = 86_400_000_000_000;

    fn counts() -> TierCounts {
        TierCounts::new(TierQuestion { fraction: 0.5, period_ns: DAY, extent_bytes: GIB, block_bytes: 4096 }, 0)
    }

    fn request(day: u64, device: u16, offset: u64, length: u32) -> TraceRequest {
        TraceRequest { time_ns: day * DAY, offset, length, device, is_write: false }
    }

    #[test]
    fn what_was_hot_the_day_before_is_fast_and_what_is_new_is_not() {
        let mut counts = counts();
        // Two devices of 2 GiB: half of them is 2 GiB, one device or two extents.
        let day0 = [(0, 0, 40_960), (0, GIB, 4096), (1, GIB, 8192)];
        let day1 = [(0, 0, 8192), (1, GIB, 16_384), (1, 0, 8192)];
        for (day, requests) in [(0, day0), (1, day1)] {
            for (device, offset, length) in requests {
                counts.add(&request(day, device, offset, length)).unwrap();
            }
        }
        for (weight, others) in [(3.0, Some(1 << 18)), (3.0, Some(1 << 20)), (2.0, None)] {
            counts.add_use(Use { weight, others });
        }

        let tiers = counts.finish();

        assert_eq!((tiers.capacity_bytes, tiers.fast_bytes), (4 * GIB, 2 * GIB));
        let [first, second] = tiers.periods[..] else { panic!("two days") };
        assert_eq!((first.accesses, first.devices, first.extents), (13, None, None));
        assert_eq!((second.accesses, second.devices, second.extents), (8, Some(0.25), Some(0.75)));
        assert_eq!(second.cache, 0.375);
        assert!((second.alike.unwrap() - (0.25 + 2.0 / 13.0)).abs() < 1e-12);
    }

    #[test]
    fn a_request_over_the_end_of_an_extent_heats_both() {
        let mut counts = counts();
        counts.add(&request(0, 0, GIB - 4096, 12_288)).unwrap();

        assert_eq!(counts.periods[0].extents, BTreeMap::from([(0, 1), (1, 2)]));
    }
}
