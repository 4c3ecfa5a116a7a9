//! Where in a file the next operation goes.

use crate::draw::permutation::Permutation;
use crate::draw::ranks::Ranks;
use crate::error::{EngineError, Result};
use crate::plan::{Access, Coverage, Region};
use crate::sys::shared::SharedSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Draws after which a place for an operation that is long for its region is taken at the region's end.
const MOST_DRAWS: u32 = 64;

/// A walk over one region of one file.
#[derive(Debug, Clone)]
pub struct Offsets {
    from: u64,
    end: u64,
    walk: Walk,
}

#[derive(Debug, Clone)]
enum Walk {
    Sequential { at: u64, wrap: bool },
    Stream(Stream),
    Backward { at: u64, wrap: bool },
    Stride { at: u64, stride: u64, wrap: bool },
    Uniform { align: u64, size: u64, blocks: u64 },
    Ranked { align: u64, blocks: u64, ranks: Box<Ranks> },
    Permuted(Box<Permuted>),
}

/// One stream through a file, for all who follow it.
#[derive(Debug, Clone)]
struct Stream {
    /// Where the streams of all files have got to: the place behind the last operation, 0 before the first.
    places: Arc<SharedSlice<AtomicU64>>,
    /// Which of them is this file's.
    file: usize,
    wrap: bool,
    jump_share: f64,
    /// What places to jump to are multiples of.
    unit: u64,
}

impl Stream {
    #[inline(never)]
    fn next(&self, from: u64, end: u64, size: u64, rng: &mut fastrand::Rng) -> Option<(u64, u64)> {
        let place = self.places.get(self.file)?;
        if self.jump_share > 0.0 && rng.f64() < self.jump_share {
            let blocks = blocks_of(end - from, size, self.unit);
            if blocks > 0 {
                let offset = from + rng.u64(..blocks) * self.unit;
                place.store(offset + size, Relaxed);
                return Some((offset, size));
            }
        }
        let mut at = place.load(Relaxed);
        loop {
            let offset = match at {
                _ if from >= end => return None,
                at if at >= end && !self.wrap => return None,
                at if at >= end || at < from => from,
                at => at,
            };
            let length = size.min(end - offset);
            match place.compare_exchange_weak(at, offset + length, Relaxed, Relaxed) {
                Ok(_) => return Some((offset, length)),
                Err(now) => at = now,
            }
        }
    }
}

/// Every block once, in a random order.
#[derive(Debug, Clone)]
struct Permuted {
    align: u64,
    order: Permutation,
    next: u64,
    rounds: bool,
}

impl Permuted {
    #[inline(never)]
    fn next(&mut self, from: u64, end: u64, size: u64, rng: &mut fastrand::Rng) -> Option<(u64, u64)> {
        if self.next == self.order.count() {
            if !self.rounds {
                return None;
            }
            self.order = Permutation::new(self.order.count(), rng.u64(..));
            self.next = 0;
        }
        let offset = from + self.order.at(self.next) * self.align;
        self.next += 1;
        (offset + size <= end).then_some((offset, size))
    }
}

/// A block by its rank; one that is too near the end for the size is drawn anew.
#[inline(never)]
fn ranked(
    from: u64,
    end: u64,
    align: u64,
    blocks: u64,
    ranks: &mut Ranks,
    size: u64,
    rng: &mut fastrand::Rng,
) -> Option<(u64, u64)> {
    if blocks == 0 || size > end - from {
        return None;
    }
    for _ in 0..MOST_DRAWS {
        let offset = from + ranks.draw(blocks, rng) * align;
        if offset + size <= end {
            return Some((offset, size));
        }
    }
    Some((from + (end - from - size) / align * align, size))
}

/// Who walks: decides slices and the order of permuted walks.
#[derive(Debug, Clone, Copy)]
pub struct Walker {
    /// Worker, from 0.
    pub worker: u32,
    /// Workers of the job.
    pub workers: u32,
    /// Seed of this worker and operation.
    pub seed: u64,
    /// Seed that all who work on the file share: where its hot blocks lie.
    pub file_seed: u64,
}

impl Offsets {
    /// A walk of `access` over a file of `file_bytes`. `size_bytes` is the operation's fixed size, if it has one: the
    /// unit of random offsets where the Plan gives no alignment.
    pub fn new(access: &Access, file_bytes: u64, size_bytes: Option<u64>, walker: Walker) -> Result<Self> {
        let region = match access {
            Access::Sequential { region, .. }
            | Access::Stream { region, .. }
            | Access::Backward { region, .. }
            | Access::Stride { region, .. }
            | Access::Random { region, .. } => region,
            Access::Append {} | Access::Whole { .. } => &Region::Whole {},
        };
        let unit = size_bytes.unwrap_or(4096).max(1);
        let (from, end) = bounds(region, file_bytes, unit, walker)?;
        let walk = match access {
            Access::Sequential { wrap, .. } => Walk::Sequential { at: from, wrap: *wrap },
            Access::Stream { wrap, jump_share, .. } => {
                let places = Arc::new(SharedSlice::zeroed(1).map_err(EngineError::no_shared_memory)?);
                Walk::Stream(Stream { places, file: 0, wrap: *wrap, jump_share: *jump_share, unit })
            }
            Access::Backward { wrap, .. } => Walk::Backward { at: end, wrap: *wrap },
            Access::Stride { stride_bytes, wrap, .. } => {
                if *stride_bytes == 0 {
                    return Err(EngineError::Plan("stride_bytes is 0; it must be 1 or more".into()));
                }
                Walk::Stride { at: from, stride: *stride_bytes, wrap: *wrap }
            }
            Access::Random { distribution, coverage, align_bytes, .. } => {
                let ranks = Ranks::new(distribution, walker.file_seed)?;
                let align = if *align_bytes == 0 { unit } else { *align_bytes };
                random(*coverage, ranks, align, end - from, size_bytes, walker.seed)?
            }
            Access::Append {} | Access::Whole { .. } => Walk::Sequential { at: from, wrap: false },
        };
        Ok(Self { from, end, walk })
    }

    /// The same walk, as a stream that goes on where the others who follow that of a file have got to; any other walk is
    /// the walker's own.
    pub fn along(mut self, streams: &Arc<SharedSlice<AtomicU64>>, file: u64) -> Self {
        if let Walk::Stream(stream) = &mut self.walk {
            (stream.places, stream.file) = (Arc::clone(streams), file as usize);
        }
        self
    }

    /// Go back to the start of the walk, for another pass; a stream is not one walker's to turn back.
    pub fn rewind(&mut self) {
        match &mut self.walk {
            Walk::Sequential { at, .. } | Walk::Stride { at, .. } => *at = self.from,
            Walk::Backward { at, .. } => *at = self.end,
            Walk::Permuted(walk) => walk.next = 0,
            Walk::Stream(_) | Walk::Uniform { .. } | Walk::Ranked { .. } => {}
        }
    }

    /// Whether a walk that has just begun has a place for an operation of `size` bytes, which is above 0.
    pub fn fits(&self, size: u64) -> bool {
        let room = self.end - self.from;
        match &self.walk {
            Walk::Sequential { .. } | Walk::Stream(_) => room > 0,
            Walk::Permuted(walk) => walk.order.count() > 0 && size <= room,
            Walk::Backward { .. } | Walk::Stride { .. } | Walk::Uniform { .. } | Walk::Ranked { .. } => size <= room,
        }
    }

    /// Whether finding the next offset takes less than a look at the clock.
    pub fn is_quick(&self) -> bool {
        !matches!(self.walk, Walk::Ranked { .. } | Walk::Permuted(_) | Walk::Stream(_))
    }

    /// The walk of operations of `size` bytes, if each of their offsets is drawn alike.
    pub fn uniform(&self, size: u64) -> Option<Uniform> {
        let Walk::Uniform { align, .. } = self.walk else { return None };
        let blocks = blocks_of(self.end - self.from, size, align);
        (blocks > 0).then_some(Uniform { from: self.from, align, blocks })
    }

    /// Offset and length of the next operation of `size` bytes; None when the walk is through. Only a sequential
    /// operation at the end of the region is shorter than asked for.
    #[inline(always)]
    pub fn next(&mut self, size: u64, rng: &mut fastrand::Rng) -> Option<(u64, u64)> {
        let (from, end) = (self.from, self.end);
        match &mut self.walk {
            Walk::Uniform { align, size: known, blocks } => {
                if size != *known {
                    *known = size;
                    *blocks = blocks_of(end - from, size, *align);
                }
                (*blocks > 0).then(|| (from + rng.u64(..*blocks) * *align, size))
            }
            Walk::Ranked { align, blocks, ranks } => ranked(from, end, *align, *blocks, ranks, size, rng),
            Walk::Permuted(walk) => walk.next(from, end, size, rng),
            Walk::Stream(stream) => stream.next(from, end, size, rng),
            Walk::Sequential { at, wrap } => {
                if *at >= end {
                    if !*wrap || from >= end {
                        return None;
                    }
                    *at = from;
                }
                let offset = *at;
                let length = size.min(end - offset);
                *at = offset + length;
                Some((offset, length))
            }
            Walk::Backward { at, wrap } => {
                if *at < from + size {
                    if !*wrap || end - from < size {
                        return None;
                    }
                    *at = end;
                }
                *at -= size;
                Some((*at, size))
            }
            Walk::Stride { at, stride, wrap } => {
                if *at + size > end {
                    if !*wrap || end - from < size {
                        return None;
                    }
                    *at = from;
                }
                let offset = *at;
                *at += *stride;
                Some((offset, size))
            }
        }
    }
}

/// Offsets that are each drawn alike from all that there are.
#[derive(Debug, Clone, Copy)]
pub struct Uniform {
    from: u64,
    align: u64,
    /// 1 or more.
    blocks: u64,
}

impl Uniform {
    /// The next offset.
    #[inline(always)]
    pub fn draw(&self, rng: &mut fastrand::Rng) -> u64 {
        self.from + rng.u64(..self.blocks) * self.align
    }
}

fn bounds(region: &Region, file_bytes: u64, unit: u64, walker: Walker) -> Result<(u64, u64)> {
    match *region {
        Region::Whole {} => Ok((0, file_bytes)),
        Region::Slice {} => {
            let blocks = file_bytes / unit;
            let part = |i: u64| (blocks * i / u64::from(walker.workers)) * unit;
            let end = if walker.worker + 1 == walker.workers { file_bytes } else { part(u64::from(walker.worker) + 1) };
            Ok((part(u64::from(walker.worker)), end))
        }
        Region::Range { from_bytes, length_bytes } => {
            if from_bytes + length_bytes > file_bytes {
                return Err(EngineError::Plan(format!(
                    "the region from byte {from_bytes} for {length_bytes} bytes ends past the file's {file_bytes} bytes"
                )));
            }
            Ok((from_bytes, from_bytes + length_bytes))
        }
    }
}

fn random(coverage: Coverage, ranks: Ranks, align: u64, length: u64, size: Option<u64>, seed: u64) -> Result<Walk> {
    match coverage {
        Coverage::WithRepeats if ranks.is_uniform() => {
            let size = size.unwrap_or(0);
            Ok(Walk::Uniform { align, size, blocks: blocks_of(length, size, align) })
        }
        // Blocks of one unit whatever the operation's size, so that hot blocks stay where they are.
        Coverage::WithRepeats => {
            let blocks = blocks_of(length, size.unwrap_or(1), align);
            Ok(Walk::Ranked { align, blocks, ranks: Box::new(ranks) })
        }
        _ if !ranks.is_uniform() => Err(EngineError::Plan(
            "random access that visits each block once knows no likelier blocks; use coverage 'with_repeats', or the \
             distribution 'uniform'"
                .into(),
        )),
        Coverage::EachOnce | Coverage::Rounds => {
            let size = size.ok_or_else(|| {
                EngineError::Plan("random access that visits each block once needs one fixed size".into())
            })?;
            let blocks = blocks_of(length, size, align);
            let rounds = coverage == Coverage::Rounds;
            let order = Permutation::new(blocks, seed);
            Ok(Walk::Permuted(Box::new(Permuted { align, order, next: 0, rounds: rounds && blocks > 0 })))
        }
    }
}

/// Aligned offsets at which `size` bytes fit into `length`.
fn blocks_of(length: u64, size: u64, align: u64) -> u64 {
    if size > length { 0 } else { (length - size) / align + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Distribution;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const ANYWHERE: Distribution = Distribution::Uniform { min: 0.0, max: 1.0 };

    fn alone(seed: u64) -> Walker {
        Walker { worker: 0, workers: 1, seed, file_seed: 9 }
    }

    fn slice_of(worker: u32, workers: u32) -> Walker {
        Walker { worker, workers, seed: u64::from(worker), file_seed: 9 }
    }

    fn walk(access: &Access, file_bytes: u64, size: u64, walker: Walker) -> Vec<(u64, u64)> {
        let mut offsets = Offsets::new(access, file_bytes, Some(size), walker).unwrap();
        let mut rng = fastrand::Rng::with_seed(walker.seed);
        std::iter::from_fn(|| offsets.next(size, &mut rng)).collect()
    }

    fn random(coverage: Coverage) -> Access {
        Access::Random { region: Region::Whole {}, distribution: ANYWHERE, coverage, align_bytes: 0 }
    }

    proptest! {
        #[test]
        fn each_once_covers_every_block_exactly_once(blocks in 1_u64..5000, seed: u64) {
            let visited = walk(&random(Coverage::EachOnce), blocks * 4096, 4096, alone(seed));

            prop_assert_eq!(visited.len() as u64, blocks);
            let distinct: HashSet<u64> = visited.iter().map(|&(offset, _)| offset).collect();
            prop_assert_eq!(distinct, (0..blocks).map(|b| b * 4096).collect::<HashSet<_>>());
        }

        #[test]
        fn sequential_covers_every_byte_once_in_order(file_bytes in 1_u64..100_000, size in 1_u64..9000) {
            let access = Access::Sequential { region: Region::Whole {}, wrap: false };

            let visited = walk(&access, file_bytes, size, alone(1));

            let mut at = 0;
            for (offset, length) in visited {
                prop_assert_eq!(offset, at);
                at += length;
            }
            prop_assert_eq!(at, file_bytes);
        }

        #[test]
        fn slices_of_all_workers_cover_the_file_without_overlap(file_bytes in 1_u64..1_000_000, workers in 1_u32..9) {
            let access = Access::Sequential { region: Region::Slice {}, wrap: false };

            let mut at = 0;
            for worker in 0..workers {
                for (offset, length) in walk(&access, file_bytes, 4096, slice_of(worker, workers)) {
                    prop_assert_eq!(offset, at);
                    at += length;
                }
            }

            prop_assert_eq!(at, file_bytes);
        }

        #[test]
        fn each_once_over_slices_covers_the_file_exactly_once(blocks in 1_u64..3000, workers in 1_u32..9) {
            let access = Access::Random {
                region: Region::Slice {},
                distribution: ANYWHERE,
                coverage: Coverage::EachOnce,
                align_bytes: 0,
            };

            let visits = (0..workers).flat_map(|worker| walk(&access, blocks * 4096, 4096, slice_of(worker, workers)));
            let mut visited: Vec<u64> = visits.map(|(offset, _)| offset / 4096).collect();
            visited.sort_unstable();

            prop_assert!(visited.into_iter().eq(0..blocks));
        }

        #[test]
        fn ranked_offsets_of_any_size_are_aligned_and_inside(blocks in 1_u64..300, seed: u64, theta in 0.1..3.0) {
            let access = Access::Random {
                region: Region::Whole {},
                distribution: Distribution::Zipf { theta, scramble: true },
                coverage: Coverage::WithRepeats,
                align_bytes: 512,
            };
            let mut offsets = Offsets::new(&access, blocks * 512, None, alone(seed)).unwrap();
            let mut rng = fastrand::Rng::with_seed(seed);
            for _ in 0..200 {
                let size = rng.u64(1..=blocks * 512);
                let (offset, length) = offsets.next(size, &mut rng).unwrap();
                prop_assert!(offset % 512 == 0 && length == size && offset + length <= blocks * 512);
            }
            prop_assert_eq!(offsets.next(blocks * 512 + 1, &mut rng), None);
        }

        #[test]
        fn uniform_offsets_are_aligned_and_inside(blocks in 1_u64..300, seed: u64) {
            let mut offsets = Offsets::new(&random(Coverage::WithRepeats), blocks * 512, Some(512), alone(seed)).unwrap();
            let mut rng = fastrand::Rng::with_seed(seed);
            for _ in 0..1000 {
                let (offset, length) = offsets.next(512, &mut rng).unwrap();
                prop_assert!(offset % 512 == 0 && offset + length <= blocks * 512);
            }
        }
    }

    #[test]
    fn likelier_blocks_and_each_once_exclude_each_other() {
        let access = Access::Random {
            region: Region::Whole {},
            distribution: Distribution::Zipf { theta: 1.0, scramble: false },
            coverage: Coverage::EachOnce,
            align_bytes: 0,
        };

        assert!(matches!(Offsets::new(&access, 1 << 20, Some(4096), alone(1)), Err(EngineError::Plan(_))));
    }

    #[test]
    fn backward_visits_whole_blocks_from_the_end() {
        let access = Access::Backward { region: Region::Whole {}, wrap: false };

        assert_eq!(walk(&access, 10, 4, alone(1)), vec![(6, 4), (2, 4)]);
    }

    #[test]
    fn uniform_offsets_are_spread_evenly() {
        let mut offsets = Offsets::new(&random(Coverage::WithRepeats), 16 * 4096, Some(4096), alone(7)).unwrap();
        let mut rng = fastrand::Rng::with_seed(7);
        let mut counts = [0_f64; 16];
        for _ in 0..160_000 {
            counts[(offsets.next(4096, &mut rng).unwrap().0 / 4096) as usize] += 1.0;
        }

        // Chi-square with 15 degrees of freedom: 37.7 is passed by chance once in a thousand seeds; this one is fixed.
        let chi_square: f64 = counts.iter().map(|n| (n - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 37.7, "{chi_square}");
    }

    fn stream(region: Region, wrap: bool, jump_share: f64) -> Access {
        Access::Stream { region, wrap, jump_share }
    }

    #[test]
    fn those_who_follow_one_stream_share_its_blocks() {
        let places = Arc::new(SharedSlice::zeroed(3).unwrap());
        let region = Region::Range { from_bytes: 4096, length_bytes: 10_000 };
        let follow = |size| {
            Offsets::new(&stream(region.clone(), false, 0.0), 1 << 20, Some(size), alone(1)).unwrap().along(&places, 2)
        };
        let (mut one, mut other) = (follow(4096), follow(1024));
        let mut rng = fastrand::Rng::with_seed(1);

        let taken = [
            one.next(4096, &mut rng),
            other.next(1024, &mut rng),
            one.next(4096, &mut rng),
            other.next(1024, &mut rng),
        ];

        assert_eq!(taken, [Some((4096, 4096)), Some((8192, 1024)), Some((9216, 4096)), Some((13_312, 784))]);
        one.rewind();
        assert_eq!((one.next(4096, &mut rng), other.next(1024, &mut rng)), (None, None));
        assert_eq!((places[0].load(Relaxed), places[1].load(Relaxed)), (0, 0));
    }

    #[test]
    fn a_stream_that_wraps_begins_its_region_again() {
        let access = stream(Region::Range { from_bytes: 512, length_bytes: 1024 }, true, 0.0);
        let mut offsets = Offsets::new(&access, 1 << 20, Some(512), alone(1)).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);

        let taken: Vec<_> = (0..5).map(|_| offsets.next(512, &mut rng).unwrap().0).collect();

        assert_eq!(taken, [512, 1024, 512, 1024, 512]);
    }

    #[test]
    fn a_stream_jumps_as_often_as_its_share_says_and_goes_on_from_there() {
        let access = stream(Region::Whole {}, true, 0.2);
        let mut offsets = Offsets::new(&access, 4096 << 20, Some(4096), alone(1)).unwrap();
        let mut rng = fastrand::Rng::with_seed(7);

        let taken: Vec<_> = (0..100_000).map(|_| offsets.next(4096, &mut rng).unwrap().0).collect();
        let jumps = taken.windows(2).filter(|pair| pair[1] != pair[0] + 4096).count();

        assert!(taken.iter().all(|offset| offset % 4096 == 0));
        // 20,000 expected, with a standard deviation of 126.
        assert!((19_400..20_600).contains(&jumps), "{jumps} jumps");
    }
}
