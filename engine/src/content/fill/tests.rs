//! What content has to be: spread evenly, the same again, as reducible as asked for.

use crate::content::fill::*;
use std::collections::HashSet;

const PLAIN: Content = Content { compress_ratio: 1.0, dedupe_ratio: 1.0, stamped: false, zeros: false };
const MIB: usize = 1 << 20;

fn filled(length: usize, file: u64, offset: u64, generation: u64) -> Vec<u8> {
    let mut buffer = vec![0; length];
    ContentFill::new(42, &PLAIN, 0).unwrap().fill(&mut buffer, file, offset, generation);
    buffer
}

#[test]
fn bytes_are_evenly_distributed() {
    let bytes = filled(16 * MIB, 0, 0, 0);
    let mut counts = [0_u64; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);

    let expected = bytes.len() as f64 / 256.0;
    let chi_square: f64 = counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();

    // 255 degrees of freedom: mean 255, deviation 22.6; five deviations either side.
    assert!((142.0..368.0).contains(&chi_square), "{chi_square}");
}

#[test]
fn what_comes_from_the_pool_is_the_same_however_much_is_asked_for() {
    let mut fill = ContentFill::new(42, &PLAIN, 0).unwrap();
    let mut whole = vec![0; 3 * BLOCK_BYTES];
    fill.fill_pool(&mut whole);

    for length in [1, 8, 512, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES - 7] {
        let mut part = vec![0; length];
        fill.fill_pool(&mut part);
        assert_eq!(part, whole[..length]);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn vector_code_makes_the_same_bytes() {
    if !has_avx2() {
        return;
    }
    let key = FileKey::new(1, 2, 3);
    let (mut plain, mut vector) = (vec![0; 3 * BLOCK_BYTES], vec![0; 3 * BLOCK_BYTES]);

    fill_blocks_portable(&mut plain, key, 7);
    // SAFETY: the CPU reports that it can.
    unsafe { fill_blocks_avx2(&mut vector, key, 7) };

    assert!(plain == vector);
}

#[test]
fn no_word_of_sixteen_bytes_comes_twice_in_64_mib() {
    let bytes = filled(64 * MIB, 3, 0, 0);

    let words = bytes.chunks_exact(16).map(|word| u128::from_le_bytes(word.try_into().unwrap()));
    let mut words: Vec<u128> = words.collect();
    words.sort_unstable();

    assert!(words.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn neighbouring_words_have_half_their_bits_in_common() {
    let bytes = filled(MIB, 0, 0, 0);
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let words: Vec<u64> = words.collect();

    for distance in [1, LANES, BLOCK_BYTES / 8] {
        let bits: u64 = words.iter().zip(&words[distance..]).map(|(a, b)| u64::from((a ^ b).count_ones())).sum();
        let share = bits as f64 / (64 * (words.len() - distance)) as f64;
        assert!((share - 0.5).abs() < 0.001, "distance {distance}: {share}");
    }
}

#[test]
fn blocks_differ_over_offsets_files_and_generations() {
    let mut seen = HashSet::new();
    for file in 0..8 {
        for generation in 0..8 {
            let bytes = filled(MIB, file, 0, generation);
            for block in bytes.chunks_exact(BLOCK_BYTES) {
                // A tenth of the block is enough to see that it differs.
                assert!(seen.insert(block[..400].to_vec()), "file {file}, generation {generation}");
            }
        }
    }
    assert_eq!(seen.len(), 8 * 8 * 256);
}

#[test]
fn seeds_give_other_bytes() {
    let mut other = vec![0; BLOCK_BYTES];
    ContentFill::new(43, &PLAIN, 0).unwrap().fill(&mut other, 0, 0, 0);

    assert_ne!(other, filled(BLOCK_BYTES, 0, 0, 0));
}

#[test]
fn avx2_and_portable_code_make_the_same_bytes() {
    let mut portable = ContentFill { has_avx2: false, ..ContentFill::new(42, &PLAIN, 0).unwrap() };
    let mut buffer = vec![0; MIB + 777];

    portable.fill(&mut buffer, 5, 12_345, 2);

    assert_eq!(buffer, filled(MIB + 777, 5, 12_345, 2));
}

#[test]
fn pieces_of_any_length_and_offset_are_pieces_of_the_same_file() {
    let whole = filled(10 * BLOCK_BYTES, 1, 0, 0);

    for (offset, length) in [(0, 1), (1, 1), (4095, 2), (4096, 4096), (100, 50), (5000, 20_000), (8191, 8193), (7, 0)] {
        assert_eq!(filled(length, 1, offset as u64, 0), whole[offset..offset + length], "{offset}+{length}");
    }
}

#[test]
fn content_that_contradicts_itself_is_refused() {
    for content in [
        Content { compress_ratio: 0.5, ..PLAIN },
        Content { dedupe_ratio: 0.0, ..PLAIN },
        Content { stamped: true, dedupe_ratio: 2.0, ..PLAIN },
        Content { stamped: true, compress_ratio: 8.0, ..PLAIN },
        Content { zeros: true, stamped: true, ..PLAIN },
        Content { zeros: true, compress_ratio: 2.0, ..PLAIN },
        Content { zeros: true, dedupe_ratio: 2.0, ..PLAIN },
    ] {
        assert!(matches!(ContentFill::new(1, &content, 0), Err(EngineError::Plan(_))), "{content:?}");
    }
}

#[test]
fn zeros_leave_nothing_of_what_a_buffer_held() {
    let mut fill = ContentFill::new(1, &Content { zeros: true, ..PLAIN }, 0).unwrap();
    let mut buffer = vec![7; BLOCK_BYTES + 100];

    fill.fill(&mut buffer, 3, 4000, 1);
    assert!(buffer.iter().all(|&byte| byte == 0));

    buffer.fill(7);
    fill.fill_pool(&mut buffer);
    assert!(buffer.iter().all(|&byte| byte == 0));
}

#[test]
fn the_dedupe_ratio_holds_over_files_and_writers() {
    let content = Content { dedupe_ratio: 2.5, ..PLAIN };
    let mut seen = HashSet::new();
    for writer in 0..4 {
        let mut fill = ContentFill::new(1, &content, writer).unwrap();
        let mut buffer = vec![0; MIB / 4];
        for file in 0..64 {
            fill.fill(&mut buffer, file, 0, 0);
            // The first sixteen bytes distinguish random blocks.
            seen.extend(buffer.chunks_exact(BLOCK_BYTES).map(|block| block[..16].to_vec()));
        }
    }

    let written = 64 * MIB / BLOCK_BYTES;
    let ratio = written as f64 / seen.len() as f64;
    assert!((ratio / 2.5 - 1.0).abs() < 0.02, "{ratio}");
}

#[test]
fn stamped_and_compressible_content_keeps_its_stamps() {
    let content = Content { stamped: true, compress_ratio: 5.0, ..PLAIN };
    let mut buffer = vec![0; 3 * BLOCK_BYTES + 512];

    ContentFill::new(9, &content, 0).unwrap().fill(&mut buffer, 2, 512, 7);

    let sectors = buffer.chunks_exact_mut(512).map(|sector| Stamper::new().read(sector));
    for (at, sector) in sectors.enumerate() {
        let stamp = Stamp { set: 9, file: 2, offset: 512 * (at as u64 + 1), generation: 7 };
        assert_eq!(sector, crate::content::stamp::Sector::Stamped(stamp));
    }
}

/// By hand: `cargo test --release content_speed -- --ignored --nocapture`.
#[test]
#[ignore = "measures; the machine must be idle"]
fn content_speed() {
    let mut buffer = vec![0; MIB];
    for content in [
        PLAIN,
        Content { compress_ratio: 2.0, ..PLAIN },
        Content { dedupe_ratio: 2.0, ..PLAIN },
        Content { compress_ratio: 3.0, dedupe_ratio: 3.0, ..PLAIN },
        Content { stamped: true, ..PLAIN },
    ] {
        let mut fill = ContentFill::new(1, &content, 0).unwrap();
        let begun = std::time::Instant::now();
        for generation in 0..2000 {
            fill.fill(std::hint::black_box(&mut buffer), 0, 0, generation);
        }
        let gib_per_s = 2000.0 / 1024.0 / begun.elapsed().as_secs_f64();
        println!("{content:?}: {gib_per_s:.1} GiB/s");
        assert!(gib_per_s > 1.0);
    }
}
