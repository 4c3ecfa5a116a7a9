//! Memory out of the processor's caches, so that a copy into it or out of it starts from the memory itself.

/// Whether [`evict`] does it: a program cannot on every processor.
pub const IS_EVICTED: bool = cfg!(target_arch = "x86_64");
/// Length of a cache line, on all x86-64 processors.
const LINE_BYTES: usize = 64;

/// Write back what the caches hold of some memory, and forget it, in all of them.
#[inline(never)]
pub fn evict(memory: &[u8]) {
    for line in memory.chunks(LINE_BYTES) {
        evict_line(line);
    }
    // A row that begins within a line ends within another.
    if let Some(last) = memory.last() {
        evict_line(std::slice::from_ref(last));
    }
    wait();
}

#[cfg(target_arch = "x86_64")]
fn evict_line(line: &[u8]) {
    // SAFETY: every x86-64 processor has the instruction; the address is that of memory which can be read.
    unsafe { std::arch::x86_64::_mm_clflush(line.as_ptr()) };
}

#[cfg(target_arch = "x86_64")]
fn wait() {
    // SAFETY: every x86-64 processor has the instruction, and it takes no operand.
    unsafe { std::arch::x86_64::_mm_mfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn evict_line(_: &[u8]) {}

#[cfg(not(target_arch = "x86_64"))]
fn wait() {}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::hint::black_box;

    /// Cycles of one look at each line, in an order that no prefetcher follows.
    fn cycles(memory: &[u8]) -> u64 {
        let lines = memory.len() / LINE_BYTES;
        // SAFETY: every x86-64 processor has the instructions; they take no operands.
        let now = || unsafe {
            std::arch::x86_64::_mm_lfence();
            std::arch::x86_64::_rdtsc()
        };
        let start = now();
        let mut at = 0;
        for _ in 0..lines {
            // The next place hangs on what was read: one wait after the other.
            at = (5 * at + 3 + usize::from(black_box(memory[LINE_BYTES * at]))) % lines;
        }
        black_box(at);
        now() - start
    }

    #[test]
    fn memory_that_was_evicted_takes_several_times_as_long_to_look_at() {
        let memory = vec![0; 256 * LINE_BYTES];
        let mut ratios: Vec<f64> = (0..31)
            .map(|_| {
                cycles(&memory);
                let warm = cycles(&memory);
                evict(&memory);
                cycles(&memory) as f64 / warm as f64
            })
            .collect();

        ratios.sort_by(f64::total_cmp);
        // Some 5 cycles a line against some 200; a disturbed round counts as one of 31.
        assert!(ratios[15] > 2.0, "{ratios:?}");
    }

    #[test]
    fn what_memory_holds_stays() {
        let memory: Vec<u8> = (0..=255).cycle().take(1000).collect();

        evict(&memory[3..]);
        evict(&[]);

        assert!(memory.iter().zip((0..=255).cycle()).all(|(byte, expected)| *byte == expected));
    }
}
