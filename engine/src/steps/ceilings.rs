//! What could this client ever show?
//!
//! A storage number near one of these is a number of the client. One thread, each ceiling in rounds, and of the
//! rounds the median: a neighbour that takes the CPU for a while spoils some rounds, not the result.
//!
//! Cached preads go upwards through the first 32 MiB of the given file, which stay in the page cache afterwards. They are
//! left out where that part cannot be shown to be resident before and after: then it would be the storage that is
//! measured. Copies count each byte once, although it is read and written.

use crate::clock::read_ns;
use crate::error::{EngineError, Result};
use crate::events::Ceiling;
use crate::observe::cache;
use crate::observe::cgroup::memory_limit_bytes;
use crate::sys::{posix, syscall};
use std::fs::{self, File};
use std::hint::black_box;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Far beyond any cache of a CPU.
const LARGE_COPY_BYTES: usize = 256 * MIB;
/// Both buffers in the second-level cache.
const CACHED_COPY_BYTES: usize = 128 * KIB;
const FILL_BYTES: usize = MIB;
const PREAD_SPAN_BYTES: u64 = 32 << 20;
const PREAD_BLOCKS_BYTES: [usize; 3] = [4 * KIB, 64 * KIB, MIB];
/// Share of the free memory that the buffers of the large copy may take together.
const MEMORY_SHARE: u64 = 8;
const ROUNDS: u32 = 5;
/// Ceilings among which the time is shared.
const PARTS: u32 = 8;
/// A batch between two looks at the clock takes at least this long, so that the looks weigh less than a per cent.
const BATCH_NS: u64 = 50_000;

/// Measure all of them within about `seconds`; the large copy takes five copies, however long they are.
///
/// `open` opens the file for the cached preads, with flags of open(2); `file_bytes` of it hold data, as far as they may go.
/// `fill` makes content of the kind that the load writes.
///
/// # Errors
///
/// [`EngineError::Stopped`] when `stop` is set, [`EngineError::Io`] when the file cannot be read.
pub fn measure(
    path: &Path,
    open: &dyn Fn(i32) -> io::Result<File>,
    file_bytes: u64,
    seconds: f64,
    stop: &AtomicBool,
    fill: &mut dyn FnMut(&mut [u8]),
) -> Result<Vec<Ceiling>> {
    let round_ns = (seconds.max(0.0) * 1e9 / f64::from(PARTS * ROUNDS)) as u64;
    let meter = Meter { round_ns, stop };
    let mut ceilings = Vec::new();
    ceilings.extend(memory_copy(&meter, "memory_copy_large", large_copy_bytes())?);
    ceilings.extend(memory_copy(&meter, "memory_copy_cached", CACHED_COPY_BYTES)?);
    ceilings.push(ceiling("system_call", None, meter.ops_per_s(system_call)?));
    ceilings.push(ceiling("clock_read", None, meter.ops_per_s(clock_read)?));
    let file = cache::quietly(open).map_err(|source| EngineError::io("open", path, source))?;
    ceilings.extend(cached_preads(&meter, &file, path, file_bytes)?);
    let mut block = vec![0; FILL_BYTES];
    let fills_per_s = meter.ops_per_s(|| {
        fill(black_box(&mut block));
        black_box(&mut block);
        Ok(())
    })?;
    ceilings.push(ceiling("content_fill", Some(FILL_BYTES), fills_per_s));
    Ok(ceilings)
}

fn ceiling(name: &str, block_bytes: Option<usize>, ops_per_s: f64) -> Ceiling {
    Ceiling {
        name: name.to_owned(),
        block_size_bytes: block_bytes.map(|bytes| bytes as u64),
        ops_per_s,
        bytes_per_s: block_bytes.map(|bytes| bytes as f64 * ops_per_s),
    }
}

/// Repeats an operation and says how often it fits into a second.
struct Meter<'a> {
    round_ns: u64,
    stop: &'a AtomicBool,
}

impl Meter<'_> {
    /// Operations per second, median of the rounds.
    fn ops_per_s(&self, mut op: impl FnMut() -> Result<()>) -> Result<f64> {
        let batch = self.batch(&mut op)?;
        let mut rates = Vec::with_capacity(ROUNDS as usize);
        for _ in 0..ROUNDS {
            let (mut ops, mut spent_ns) = (0, 0);
            while spent_ns < self.round_ns.max(1) {
                spent_ns += self.time_ns(batch, &mut op)?;
                ops += batch;
            }
            rates.push(ops as f64 * 1e9 / spent_ns as f64);
        }
        rates.sort_by(f64::total_cmp);
        Ok(rates[rates.len() / 2])
    }

    /// How many operations make a batch. Finding out warms caches and branch predictors up as well.
    fn batch(&self, op: &mut impl FnMut() -> Result<()>) -> Result<u64> {
        let mut batch = 1;
        while self.time_ns(batch, op)? < BATCH_NS {
            batch *= 2;
        }
        Ok(batch)
    }

    /// Time that a number of operations takes.
    fn time_ns(&self, ops: u64, op: &mut impl FnMut() -> Result<()>) -> Result<u64> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(EngineError::Stopped);
        }
        let start_ns = read_ns(libc::CLOCK_MONOTONIC);
        for _ in 0..ops {
            op()?;
        }
        Ok(read_ns(libc::CLOCK_MONOTONIC) - start_ns)
    }
}

/// Copy between two buffers whose pages are all there; None when there is no memory for them.
fn memory_copy(meter: &Meter, name: &str, bytes: usize) -> Result<Option<Ceiling>> {
    let (Some(from), Some(mut to)) = (touched(bytes), touched(bytes)) else { return Ok(None) };
    let ops_per_s = meter.ops_per_s(|| {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
        Ok(())
    })?;
    Ok(Some(ceiling(name, Some(bytes), ops_per_s)))
}

/// A buffer that was written to: pages never written are all the one zero page, which sits in the cache.
fn touched(bytes: usize) -> Option<Vec<u8>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(bytes).ok()?;
    buffer.resize(bytes, 0x5a);
    Some(buffer)
}

/// Size of one buffer of the large copy: what free memory, and the limit of our control group, leave room for.
fn large_copy_bytes() -> usize {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let available_kib = available.and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok());
    let memory_bytes = available_kib.unwrap_or(0).saturating_mul(1024).min(memory_limit_bytes().unwrap_or(u64::MAX));
    usize::try_from(memory_bytes / MEMORY_SHARE / 2).unwrap_or(usize::MAX).clamp(16 * MIB, LARGE_COPY_BYTES)
}

/// The least that a system call can be; raw, so that no C library answers from memory.
fn system_call() -> Result<()> {
    black_box(syscall::parent());
    Ok(())
}

fn clock_read() -> Result<()> {
    black_box(read_ns(libc::CLOCK_MONOTONIC));
    Ok(())
}

/// One ceiling for each block size that fits; none where the file does not stay in the page cache.
fn cached_preads(meter: &Meter, file: &File, path: &Path, file_bytes: u64) -> Result<Vec<Ceiling>> {
    let failed = |source| EngineError::io("read", path, source);
    let span_bytes = posix::length_of(file.as_fd()).map_err(failed)?.min(file_bytes).min(PREAD_SPAN_BYTES);
    let mut buffer = vec![0u8; MIB];
    read_through(meter, file, span_bytes, &mut buffer, path)?;
    let mut ceilings = Vec::new();
    for block_bytes in PREAD_BLOCKS_BYTES.into_iter().filter(|bytes| *bytes as u64 <= span_bytes) {
        if !is_cached(file, span_bytes) {
            break;
        }
        let block = &mut buffer[..block_bytes];
        let last_start = span_bytes - block_bytes as u64;
        let mut offset = 0;
        let ops_per_s = meter.ops_per_s(|| {
            file.read_exact_at(block, offset).map_err(failed)?;
            black_box(&mut *block);
            offset += block_bytes as u64;
            offset = if offset > last_start { 0 } else { offset };
            Ok(())
        })?;
        if is_cached(file, span_bytes) {
            ceilings.push(ceiling("cached_pread", Some(block_bytes), ops_per_s));
        }
    }
    Ok(ceilings)
}

/// Bring the first part of a file into the page cache.
fn read_through(meter: &Meter, file: &File, span_bytes: u64, buffer: &mut [u8], path: &Path) -> Result<()> {
    let mut offset = 0;
    while offset < span_bytes {
        if meter.stop.load(Ordering::Relaxed) {
            return Err(EngineError::Stopped);
        }
        let wanted = (span_bytes - offset).min(buffer.len() as u64);
        let block = &mut buffer[..wanted as usize];
        file.read_exact_at(block, offset).map_err(|source| EngineError::io("read", path, source))?;
        offset += wanted;
    }
    Ok(())
}

/// Whether all of it is resident; unknown is no.
fn is_cached(file: &File, bytes: u64) -> bool {
    cache::is_resident(file, bytes).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ceiling's rate; none where it is not there.
    fn rate(ceilings: &[Ceiling], name: &str, block_bytes: Option<u64>) -> Option<f64> {
        let found = ceilings.iter().find(|c| c.name == name && c.block_size_bytes == block_bytes);
        found.map(|ceiling| ceiling.ops_per_s)
    }

    #[test]
    fn every_ceiling_of_a_small_file_is_there_and_in_a_sane_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::write(&path, vec![3; 4 * MIB]).unwrap();
        let mut filled = 0;
        let mut measured = || {
            let fill = &mut |block: &mut [u8]| {
                filled += 1;
                block.fill(filled as u8);
            };
            measure(&path, &|_| File::open(&path), 4 << 20, 0.2, &AtomicBool::new(false), fill).unwrap()
        };

        // Who takes the CPU away in most rounds of one ceiling turns their order round, and who needs memory takes the cached
        // pages: once more then.
        let is_in_order = |ceilings: &Vec<Ceiling>| {
            let [large, small] = [1 << 20, 4 << 10].map(|bytes| rate(ceilings, "cached_pread", Some(bytes)));
            // A read of cached data is a system call and a copy: slower than the call alone.
            large.is_some() && large < small && small < rate(ceilings, "system_call", None)
        };
        let ceilings = (0..20).map(|_| measured()).find(is_in_order).expect("in order in one of many times");

        for (name, block_bytes) in [("clock_read", None), ("memory_copy_cached", Some(128 << 10))] {
            assert!(rate(&ceilings, name, block_bytes) > Some(0.0), "{name}");
        }
        assert!(rate(&ceilings, "content_fill", Some(1 << 20)) > Some(0.0) && filled > ROUNDS);
        assert!(ceilings.iter().all(|c| c.bytes_per_s == c.block_size_bytes.map(|b| b as f64 * c.ops_per_s)));
        assert_eq!(ceilings.len(), 8);
    }

    #[test]
    fn block_sizes_beyond_the_file_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::write(&path, vec![3; 100 * KIB]).unwrap();

        let meter = Meter { round_ns: 1000, stop: &AtomicBool::new(false) };
        let ceilings = cached_preads(&meter, &File::open(&path).unwrap(), &path, u64::MAX).unwrap();

        let sizes: Vec<_> = ceilings.iter().map(|ceiling| ceiling.block_size_bytes).collect();
        assert_eq!(sizes, [Some(4 << 10), Some(64 << 10)]);
    }

    #[test]
    fn a_known_delay_gives_its_rate() {
        let meter = Meter { round_ns: 20_000_000, stop: &AtomicBool::new(false) };

        let ops_per_s = meter.ops_per_s(|| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(())
        });

        // A sleep is never shorter than asked for; how much longer is up to the machine.
        let ops_per_s = ops_per_s.unwrap();
        assert!(ops_per_s > 0.0 && ops_per_s <= 1000.0, "{ops_per_s}");
    }

    #[test]
    fn a_stop_ends_the_measurement() {
        let stopped =
            measure(Path::new("/dev/null"), &|_| File::open("/dev/null"), 0, 1.0, &AtomicBool::new(true), &mut |_| {});

        assert!(matches!(stopped, Err(EngineError::Stopped)));
    }
}
