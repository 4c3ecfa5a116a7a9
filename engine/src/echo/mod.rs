//! Two machines compare their clocks, with nobody in between: `assay-engine echo` answers, `assay-engine ask` asks.
//!
//! A question and its answer are one UDP datagram each, of the same length, with a MAC over all of it: an echo answers
//! nobody who does not hold its key, and sends nobody more than came. Who listens in can read the time, and who holds up
//! datagrams makes the round trip longer, which is in the bound of what is found; nobody can make up an answer.
//! The key of 32 bytes comes by standard input: a command line is read by everybody on the machine.

mod answering;
mod asking;
mod datagram;

pub use answering::{Answerer, echo};
pub use asking::{Asked, Exchange, ask, ask_by_address};

pub use crate::error::Refusal;

use std::io::Read;

/// What both sides hold, and nobody else. It has no `Debug`, so that nothing prints it.
#[derive(Clone)]
pub struct Key([u8; Self::LENGTH]);

impl Key {
    /// In bytes: as long as the hash of HMAC-SHA256, as RFC 2104 asks for.
    pub const LENGTH: usize = 32;

    /// Of these bytes.
    pub fn new(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }

    /// The first bytes of an input.
    ///
    /// # Errors
    ///
    /// It ends before, or cannot be read.
    pub fn read(input: &mut impl Read) -> Result<Self, Refusal> {
        let mut bytes = [0; Self::LENGTH];
        match input.read_exact(&mut bytes) {
            Ok(()) => Ok(Self(bytes)),
            Err(error) => {
                let wanted = format!("the key has to come on standard input, {} bytes", Self::LENGTH);
                Err(Refusal::Call(format!("{wanted}: {error}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_too_short_is_refused() {
        assert!(matches!(Key::read(&mut &[7; 31][..]), Err(Refusal::Call(_))));
        assert!(Key::read(&mut &[7; 33][..]).is_ok_and(|key| key.0 == [7; 32]));
    }
}
