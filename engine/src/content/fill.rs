//! What is written: bytes that no device can compress or find twice, made faster than storage takes them.
//!
//! Every 4 KiB block of a file is a stream of its own, keyed by (seed, file, block, generation), so any part of any file
//! can be made again from the four numbers. Eight xorshift128+ generators (Vigna, "Further scramblings of Marsaglia's
//! xorshift generators", 2017; shifts 23, 17, 26) run side by side, which compilers turn into vector code. Each step gives
//! two words: the generator's own, and one with the halves of the first state swapped, which no compressor can distinguish from
//! another draw and which costs a third of one. Start values come from SplitMix64. The key has 128 bits, 64 of which
//! differ for certain between blocks of one file and generation.
//!
//! Content that compresses gets its repeats put over it (`texture.rs`). Content with duplicates has blocks keyed by their
//! number in the writer's stream instead (`duplicates.rs`). Stamped content gets its stamps last (`stamp.rs`). Zeroes are asked
//! for by themselves.

use crate::content::BLOCK_BYTES;
use crate::content::duplicates::Duplicates;
use crate::content::stamp::{STAMP_BYTES, Stamp, Stamper};
use crate::content::texture::Texture;
use crate::draw::mix::{GOLDEN, mix};
use crate::error::{EngineError, Result};
use crate::plan::Content;

const LANES: usize = 8;
/// Bytes of one step of all generators.
const STEP_BYTES: usize = 2 * LANES * 8;
/// What is made at a time.
const TWO_STEPS_BYTES: usize = 2 * STEP_BYTES;
/// In place of a generation, for blocks that are keyed by their number in a stream.
const DUPLICATES: u64 = u64::MAX;
/// In place of a generation, for what is made before the start.
const POOL: u64 = u64::MAX - 1;

/// Makes content.
#[derive(Debug, Clone)]
pub struct ContentFill {
    seed: u64,
    key: FileKey,
    has_avx2: bool,
    texture: Option<Texture>,
    duplicates: Option<(FileKey, Duplicates)>,
    stamper: Option<Stamper>,
    /// Whether nothing but zeroes is made.
    zeros: bool,
    /// Room for a block of which a part is wanted.
    scratch: Vec<u8>,
    /// The first block of the pool, once any of it was asked for.
    pool_start: Vec<u8>,
}

impl ContentFill {
    /// Content by the rules of a set, of one writer: writers of different `writer` never make the same duplicates.
    ///
    /// # Errors
    ///
    /// A Plan error for content that cannot be.
    pub fn new(seed: u64, content: &Content, writer: u64) -> Result<Self> {
        if content.zeros && (content.stamped || content.compress_ratio != 1.0 || content.dedupe_ratio != 1.0) {
            return Err(EngineError::Plan(
                "content: zeros are all alike: they have no stamps, and compress_ratio and dedupe_ratio must be 1 with them"
                    .to_owned(),
            ));
        }
        let texture = Texture::new(content.compress_ratio)?;
        let stream = FileKey::new(seed, mix(writer), DUPLICATES);
        let duplicates = Duplicates::new(content.dedupe_ratio, stream.0)?.map(|duplicates| (stream, duplicates));
        if content.stamped && duplicates.is_some() {
            return Err(EngineError::Plan(
                "content: stamped blocks are all different, so dedupe_ratio must be 1 with them".to_owned(),
            ));
        }
        if content.stamped && texture.as_ref().is_some_and(|texture| texture.shortest_random_bytes() < STAMP_BYTES) {
            return Err(EngineError::Plan(format!(
                "content: stamps take {STAMP_BYTES} of 512 bytes, which leaves no room for compress_ratio {}; use 5 or less",
                content.compress_ratio
            )));
        }
        let stamper = content.stamped.then(Stamper::new);
        Ok(Self {
            seed,
            key: FileKey::of_seed(seed),
            has_avx2: has_avx2(),
            texture,
            duplicates,
            stamper,
            zeros: content.zeros,
            scratch: vec![0; BLOCK_BYTES],
            pool_start: Vec::new(),
        })
    }

    /// Fill a buffer that goes to `offset_bytes` of a file. Any length and offset; multiples of 4 KiB are fastest. Stamped
    /// content begins at a multiple of 512 bytes.
    ///
    /// `generation` 0 is what laying out writes; a worker that overwrites uses others.
    pub fn fill(&mut self, buffer: &mut [u8], file_index: u64, offset_bytes: u64, generation: u64) {
        self.fill_plain(buffer, file_index, offset_bytes, generation);
        if let Some(stamper) = self.stamper {
            stamper.stamp(buffer, Stamp { set: self.seed, file: file_index, offset: offset_bytes, generation });
        }
    }

    /// The bytes that a writer has ready before it begins: the same at each call. Few of them are copied, not made anew.
    pub fn fill_pool(&mut self, buffer: &mut [u8]) {
        if self.pool_start.is_empty() {
            let mut start = vec![0; BLOCK_BYTES];
            self.fill_plain(&mut start, 0, 0, POOL);
            self.pool_start = start;
        }
        match self.pool_start.get(..buffer.len()) {
            Some(start) => buffer.copy_from_slice(start),
            None => self.fill_plain(buffer, 0, 0, POOL),
        }
    }

    /// Put eight new bytes into a buffer that goes to `offset_bytes` of a file, at its start and where a block of the file
    /// begins.
    pub fn renew(&self, buffer: &mut [u8], file_index: u64, offset_bytes: u64, generation: u64) {
        let key = self.key.of_file(file_index, generation);
        let mut block = offset_bytes / BLOCK_BYTES as u64;
        let mut at = 0;
        while at < buffer.len() {
            let mark = mix(key.0 ^ block).to_le_bytes();
            let room = mark.len().min(buffer.len() - at);
            buffer[at..at + room].copy_from_slice(&mark[..room]);
            block += 1;
            at = (block * BLOCK_BYTES as u64 - offset_bytes) as usize;
        }
    }

    fn fill_plain(&mut self, buffer: &mut [u8], file_index: u64, offset_bytes: u64, generation: u64) {
        if self.zeros {
            buffer.fill(0);
            return;
        }
        let key = self.key.of_file(file_index, generation);
        let mut block = offset_bytes / BLOCK_BYTES as u64;
        let skip = (offset_bytes % BLOCK_BYTES as u64) as usize;
        let head = if skip == 0 { 0 } else { buffer.len().min(BLOCK_BYTES - skip) };
        let (head, rest) = buffer.split_at_mut(head);
        if !head.is_empty() {
            head.copy_from_slice(&self.block(key, block, skip + head.len())[skip..]);
            block += 1;
        }
        let (whole, tail) = rest.split_at_mut(rest.len() / BLOCK_BYTES * BLOCK_BYTES);
        self.fill_blocks(whole, key, block);
        if !tail.is_empty() {
            block += (whole.len() / BLOCK_BYTES) as u64;
            tail.copy_from_slice(self.block(key, block, tail.len()));
        }
    }

    /// The first bytes of a block, without the work for those after them.
    fn block(&mut self, key: FileKey, block: u64, length: usize) -> &[u8] {
        let made = if self.texture.is_some() { BLOCK_BYTES } else { length.next_multiple_of(TWO_STEPS_BYTES) };
        let mut scratch = std::mem::take(&mut self.scratch);
        self.fill_blocks(&mut scratch[..made], key, block);
        self.scratch = scratch;
        &self.scratch[..length]
    }

    /// Fill blocks, or the beginning of one: without a texture, any multiple of [`TWO_STEPS_BYTES`].
    fn fill_blocks(&mut self, blocks: &mut [u8], key: FileKey, first: u64) {
        match &mut self.duplicates {
            None => fill_unique(blocks, key, first, self.has_avx2),
            Some((stream, duplicates)) => {
                for block in blocks.chunks_mut(BLOCK_BYTES) {
                    fill_unique(block, *stream, duplicates.draw(), self.has_avx2);
                }
            }
        }
        if let Some(texture) = &self.texture {
            texture.apply(blocks);
        }
    }
}

fn fill_unique(blocks: &mut [u8], key: FileKey, first: u64, has_avx2: bool) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2 {
        // SAFETY: `has_avx2` is true only if this CPU reports it.
        unsafe { fill_blocks_avx2(blocks, key, first) };
        return;
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = has_avx2;
    fill_blocks_portable(blocks, key, first);
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

/// What all blocks of one file and generation share.
#[derive(Debug, Clone, Copy)]
struct FileKey(u64, u64);

impl FileKey {
    fn new(seed: u64, file_index: u64, generation: u64) -> Self {
        Self::of_seed(seed).of_file(file_index, generation)
    }

    /// What all files of a seed share.
    fn of_seed(seed: u64) -> Self {
        Self(mix(seed), mix(seed ^ 0x5851_f42d_4c95_7f2d))
    }

    #[inline]
    fn of_file(self, file_index: u64, generation: u64) -> Self {
        let half = |seed: u64| mix(mix(seed ^ file_index) ^ generation);
        Self(half(self.0), half(self.1))
    }

    /// Start values of one block. For one file key, different blocks give different first values in every lane.
    #[inline(always)]
    fn lanes(self, block: u64) -> ([u64; LANES], [u64; LANES]) {
        let (a, b) = (mix(self.0 ^ block), mix(self.1 ^ block));
        let mut s0 = [0; LANES];
        let mut s1 = [0; LANES];
        for lane in 0..LANES {
            s0[lane] = mix(a.wrapping_add(GOLDEN.wrapping_mul(lane as u64)));
            s1[lane] = b ^ s0[lane].rotate_left(32);
        }
        (s0, s1)
    }
}

/// The same bytes as [`fill_blocks_portable`], four lanes at a time: compilers do not find the swap of halves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_blocks_avx2(blocks: &mut [u8], key: FileKey, first: u64) {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_loadu_si256, _mm256_shuffle_epi32, _mm256_slli_epi64, _mm256_srli_epi64,
        _mm256_storeu_si256, _mm256_xor_si256,
    };
    const VECTORS: usize = LANES / 4;
    for (number, block) in (first..).zip(blocks.chunks_mut(BLOCK_BYTES)) {
        let (s0, s1) = key.lanes(number);
        // SAFETY: four of eight words from word 4 i on.
        let load = |from: &[u64; LANES], i: usize| unsafe { _mm256_loadu_si256(from[4 * i..].as_ptr().cast()) };
        let mut x: [__m256i; VECTORS] = std::array::from_fn(|i| load(&s0, i));
        let mut y: [__m256i; VECTORS] = std::array::from_fn(|i| load(&s1, i));
        // Two steps at a time: the states change places each step, and so they need not be moved.
        for steps in block.chunks_exact_mut(TWO_STEPS_BYTES) {
            let to: *mut __m256i = steps.as_mut_ptr().cast();
            // SAFETY: two steps have room for four stores a vector.
            unsafe {
                for i in 0..VECTORS {
                    x[i] = step(to.add(i), x[i], y[i]);
                    y[i] = step(to.add(2 * VECTORS + i), y[i], x[i]);
                }
            }
        }
    }

    /// Store two words of four lanes, and give what follows `y`.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn step(to: *mut __m256i, x: __m256i, y: __m256i) -> __m256i {
        let swapped = _mm256_shuffle_epi32::<0b10_11_00_01>(x);
        // SAFETY: the caller has room for both.
        unsafe {
            _mm256_storeu_si256(to, _mm256_add_epi64(x, y));
            _mm256_storeu_si256(to.add(VECTORS), _mm256_add_epi64(swapped, y));
        }
        let t = _mm256_xor_si256(x, _mm256_slli_epi64::<23>(x));
        let shifted = _mm256_xor_si256(_mm256_srli_epi64::<17>(t), _mm256_srli_epi64::<26>(y));
        _mm256_xor_si256(_mm256_xor_si256(t, y), shifted)
    }
}

fn fill_blocks_portable(blocks: &mut [u8], key: FileKey, first: u64) {
    for (number, block) in (first..).zip(blocks.chunks_mut(BLOCK_BYTES)) {
        let (mut s0, mut s1) = key.lanes(number);
        for step in block.chunks_exact_mut(STEP_BYTES) {
            let (own, swapped) = step.split_at_mut(STEP_BYTES / 2);
            let words = own.chunks_exact_mut(8).zip(swapped.chunks_exact_mut(8));
            for ((own, swapped), (s0, s1)) in words.zip(s0.iter_mut().zip(&mut s1)) {
                let (mut x, y) = (*s0, *s1);
                own.copy_from_slice(&x.wrapping_add(y).to_le_bytes());
                swapped.copy_from_slice(&x.rotate_left(32).wrapping_add(y).to_le_bytes());
                x ^= x << 23;
                (*s0, *s1) = (y, x ^ y ^ (x >> 17) ^ (y >> 26));
            }
        }
    }
}

#[cfg(test)]
mod tests;
