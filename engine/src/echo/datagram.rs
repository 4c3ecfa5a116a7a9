//! What a question and an answer look like on the wire: 56 bytes, numbers little-endian.
//!
//! | bytes | question | answer |
//! | --- | --- | --- |
//! | 0 to 7 | `assay-q1` | `assay-a1` |
//! | 8 to 15 | its number | the same |
//! | 16 to 23 | 0 | CLOCK_MONOTONIC of who answers, ns |
//! | 24 to 55 | HMAC-SHA256 of the bytes before | likewise |
//!
//! The first word distinguishes the two, so that a question sent back is no answer. Who asks uses no number twice, so that an
//! answer is to one question alone.

use super::Key;
use hmac_sha256::HMAC;

/// Of both, so that an answer is never longer than what was asked.
pub const LENGTH: usize = 56;
const SIGNED_BYTES: usize = 24;
const QUESTION: u64 = u64::from_le_bytes(*b"assay-q1");
const ANSWER: u64 = u64::from_le_bytes(*b"assay-a1");

/// A question, or an answer.
pub type Datagram = [u8; LENGTH];

/// Ask for the time.
pub fn question(key: &Key, number: u64) -> Datagram {
    sealed(key, [QUESTION, number, 0])
}

/// The number of a question; None: it is none, or of somebody without the key.
pub fn number_of(key: &Key, came: &[u8]) -> Option<u64> {
    match opened(key, came)? {
        [QUESTION, number, 0] => Some(number),
        _ => None,
    }
}

/// Answer a question.
pub fn answer(key: &Key, number: u64, there_ns: u64) -> Datagram {
    sealed(key, [ANSWER, number, there_ns])
}

/// The time in an answer to this question; None: it is none, or of somebody without the key.
pub fn time_of(key: &Key, number: u64, came: &[u8]) -> Option<u64> {
    match opened(key, came)? {
        [ANSWER, to, there_ns] if to == number => Some(there_ns),
        _ => None,
    }
}

fn sealed(key: &Key, words: [u64; 3]) -> Datagram {
    let mut datagram = [0; LENGTH];
    for (place, word) in datagram.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let mac = HMAC::mac(&datagram[..SIGNED_BYTES], key.0);
    datagram[SIGNED_BYTES..].copy_from_slice(&mac);
    datagram
}

fn opened(key: &Key, came: &[u8]) -> Option<[u64; 3]> {
    let came: &Datagram = came.try_into().ok()?;
    let (signed, mac) = came.split_at(SIGNED_BYTES);
    if !HMAC::verify(signed, key.0, mac.try_into().ok()?) {
        return None;
    }
    let word = |place: usize| Some(u64::from_le_bytes(signed.get(place..place + 8)?.try_into().ok()?));
    Some([word(0)?, word(8)?, word(16)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(byte: u8) -> Key {
        Key::new([byte; 32])
    }

    /// RFC 4231, test case 2.
    #[test]
    fn the_mac_is_that_of_the_standard() {
        let mac = HMAC::mac("what do ya want for nothing?", "Jefe");

        assert_eq!(mac[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
    }

    #[test]
    fn a_question_sent_back_is_no_answer_and_an_answer_is_no_question() {
        let asked = question(&key(1), 5);
        let answered = answer(&key(1), 5, 77);

        assert_eq!((number_of(&key(1), &asked), time_of(&key(1), 5, &answered)), (Some(5), Some(77)));
        assert_eq!((number_of(&key(1), &answered), time_of(&key(1), 5, &asked)), (None, None));
        assert_eq!((time_of(&key(1), 6, &answered), time_of(&key(2), 5, &answered)), (None, None));
    }

    proptest! {
        #[test]
        fn one_bit_or_byte_that_differs_makes_it_nothing(number: u64, bit in 0..LENGTH * 8, cut in 0..LENGTH) {
            let mut changed = question(&key(1), number);
            changed[bit / 8] ^= 1 << (bit % 8);

            prop_assert_eq!(number_of(&key(1), &changed), None);
            prop_assert_eq!(number_of(&key(1), &question(&key(1), number)[..cut]), None);
            prop_assert_eq!(number_of(&key(1), &[&question(&key(1), number)[..], &[0]].concat()), None);
        }

        #[test]
        fn whatever_comes_is_nothing_without_the_key(bytes: Vec<u8>, number: u64) {
            prop_assert_eq!(number_of(&key(1), &bytes), None);
            prop_assert_eq!(time_of(&key(1), number, &bytes), None);
        }
    }
}
