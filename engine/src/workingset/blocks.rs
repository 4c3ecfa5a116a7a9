//! From requests to blocks: a key for each block, and the hash that decides whether it is in the sample.

use super::TraceError;
use super::request::TraceRequest;

/// Bits of a key that number blocks; the others number the device.
const BLOCK_BITS: u32 = 48;
/// Bytes of the longest request: longer ones are of another format than they are taken for.
const MOST_LENGTH: u32 = 1 << 28;
/// So that keys of small numbers, as traces have them, do not begin at the fixed point 0 of the mixing function.
const SALT: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mix the bits of a key: a bijection, so different keys have different hashes. The finaliser of `MurmurHash3`
/// (Appleby, public domain), by which all bits of the result depend on all bits of the key.
#[inline]
pub fn mix(key: u64) -> u64 {
    let mut hash = key ^ SALT;
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// How requests are divided.
#[derive(Debug, Clone, Copy)]
pub struct Blocks {
    shift: u32,
    is_of_objects: bool,
}

impl Blocks {
    /// Blocks of `1 << shift` bytes, or each object as one block.
    pub fn new(shift: u32, is_of_objects: bool) -> Self {
        Self { shift, is_of_objects }
    }

    /// Whether keys are objects, which have no place.
    pub fn is_of_objects(self) -> bool {
        self.is_of_objects
    }

    /// The hashes of the blocks that a request touches.
    ///
    /// # Errors
    ///
    /// It is longer than requests are, or its end is beyond what can be numbered.
    #[inline]
    pub fn hashes(self, request: &TraceRequest) -> Result<impl Iterator<Item = u64>, TraceError> {
        let (first, last, device) = if self.is_of_objects {
            (request.offset, request.offset, 0)
        } else {
            if request.length > MOST_LENGTH {
                let TraceRequest { offset, length, .. } = request;
                return Err(TraceError::Input(format!(
                    "a request at offset {offset} has {length} bytes, more than 256 MiB: is it of this format?"
                )));
            }
            let end = request.offset.saturating_add(u64::from(request.length).saturating_sub(1));
            (request.offset >> self.shift, end >> self.shift, u64::from(request.device) << BLOCK_BITS)
        };
        if last >= 1 << BLOCK_BITS && !self.is_of_objects {
            return Err(TraceError::Input(format!(
                "a request at offset {} is beyond 2^{BLOCK_BITS} blocks; take larger blocks",
                request.offset
            )));
        }
        Ok((first..=last).map(move |block| mix(device | block)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(offset: u64, length: u32, device: u16) -> TraceRequest {
        TraceRequest { time_ns: 0, offset, length, device, is_write: false }
    }

    #[test]
    fn a_request_touches_each_block_that_has_a_byte_of_it() {
        let blocks = Blocks::new(12, false);
        let of = |offset, length| blocks.hashes(&request(offset, length, 0)).unwrap().collect::<Vec<_>>();

        assert_eq!(of(4095, 2), [mix(0), mix(1)]);
        assert_eq!(of(4096, 4096), [mix(1)]);
        assert_eq!(of(8192, 0), [mix(2)]);
        assert_eq!(Blocks::new(12, true).hashes(&request(7, 9000, 3)).unwrap().collect::<Vec<_>>(), [mix(7)]);
    }

    #[test]
    fn devices_have_blocks_of_their_own_and_numbers_have_an_end() {
        let blocks = Blocks::new(9, false);

        assert_ne!(blocks.hashes(&request(0, 1, 1)).unwrap().next(), blocks.hashes(&request(0, 1, 2)).unwrap().next());
        assert!(blocks.hashes(&request((1 << 57) - 1, 1, 0)).is_ok());
        assert!(blocks.hashes(&request((1 << 57) - 1, 2, 0)).is_err());
        assert!(blocks.hashes(&request(u64::MAX, 512, 0)).is_err());
    }
}
