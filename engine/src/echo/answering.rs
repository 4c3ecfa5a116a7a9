//! The side that answers: a socket at an address that was named, until standard input ends.

use super::datagram;
use super::datagram::{Datagram, LENGTH};
use super::{Key, Refusal};
use crate::clock::read_ns;
use std::io;
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};

/// Who answers questions, and none twice.
///
/// Numbers of questions have to grow: one that was sent once more by somebody who heard it is not answered. So one machine
/// asks with a key, and one echo has it.
pub struct Answerer {
    key: Key,
    /// The least number that is answered.
    next: u64,
}

impl Answerer {
    /// Nobody asked yet.
    pub fn new(key: Key) -> Self {
        Self { key, next: 0 }
    }

    /// What to send back for a datagram, with the time as `now_ns` reads it; None: nothing.
    pub fn answer(&mut self, came: &[u8], now_ns: impl FnOnce() -> u64) -> Option<Datagram> {
        let number = datagram::number_of(&self.key, came).filter(|&number| number >= self.next)?;
        self.next = number.checked_add(1)?;
        Some(datagram::answer(&self.key, number, now_ns()))
    }
}

/// Read the key, open a socket at `address`, print its address and port as JSON, and answer until the input ends.
///
/// # Errors
///
/// The address is none that can be listened on, there is no key, or nobody reads the line.
pub fn echo(address: &str, mut input: impl Read, mut output: impl Write) -> Result<(), Refusal> {
    let address = named(address)?;
    let key = Key::read(&mut input)?;
    let refused = |error: io::Error| Refusal::Machine(format!("nothing can listen at {address}: {error}"));
    let socket = UdpSocket::bind(address).map_err(refused)?;
    let bound = socket.local_addr().map_err(refused)?;
    let line = serde_json::json!({"address": bound.ip().to_string(), "port": bound.port()});
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| Refusal::Machine(format!("the port could not be reported: {error}")))?;
    std::thread::Builder::new()
        .spawn(move || {
            let error = serve(&socket, Answerer::new(key));
            let _ = writeln!(io::stderr(), "assay-engine: the socket at {bound} is gone: {error}");
            std::process::exit(3);
        })
        .map_err(|error| Refusal::Machine(format!("no thread could be made that answers: {error}")))?;
    // With the end of this thread the other ends, too.
    let _ = io::copy(&mut input, &mut io::sink());
    Ok(())
}

/// Read an address that somebody chose: one that means all of a machine's would let anybody ask.
fn named(text: &str) -> Result<SocketAddr, Refusal> {
    let address: SocketAddr = text
        .parse()
        .map_err(|_| Refusal::Call(format!("'{text}' is no address with a port, such as 192.0.2.1:0 or [::1]:0")))?;
    if address.ip().is_unspecified() || address.ip().is_multicast() {
        return Err(Refusal::Call(format!("{} is no address of one interface; name one", address.ip())));
    }
    Ok(address)
}

/// Answer until the socket fails.
fn serve(socket: &UdpSocket, mut answerer: Answerer) -> io::Error {
    // One more than what is a question: the rest of what is longer is cut off by the kernel, and it is none.
    let mut room = [0; LENGTH + 1];
    loop {
        match socket.recv_from(&mut room) {
            Ok((length, from)) => {
                if let Some(answer) = answerer.answer(&room[..length], || read_ns(libc::CLOCK_MONOTONIC)) {
                    // What cannot be sent is lost, as on the wire: who asks asks again.
                    let _ = socket.send_to(&answer, from);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        Key::new([9; 32])
    }

    #[test]
    fn a_question_is_answered_once_with_the_time_and_older_ones_never() {
        let mut answerer = Answerer::new(key());
        let (fifth, sixth) = (datagram::question(&key(), 5), datagram::question(&key(), 6));

        let answered = answerer.answer(&sixth, || 70).unwrap();

        assert_eq!(datagram::time_of(&key(), 6, &answered), Some(70));
        assert_eq!(answerer.answer(&sixth, || 71), None);
        assert_eq!(answerer.answer(&fifth, || 72), None);
        assert!(answerer.answer(&datagram::question(&key(), 7), || 73).is_some());
    }

    #[test]
    fn an_address_is_one_of_one_interface() {
        for wrong in ["0.0.0.0:1", "[::]:0", "224.0.0.1:5", "localhost:1", "127.0.0.1", "127.0.0.1:70000", ""] {
            assert!(matches!(named(wrong), Err(Refusal::Call(_))), "{wrong}");
        }
        assert!(named("127.0.0.1:0").is_ok() && named("[::1]:7").is_ok());
    }

    #[test]
    fn what_was_given_by_name_is_told_and_ends_with_the_input() {
        let mut reported = Vec::new();

        echo("127.0.0.1:0", &[9; 32][..], &mut reported).unwrap();

        let reported: serde_json::Value = serde_json::from_slice(&reported).unwrap();
        assert_eq!(reported["address"], "127.0.0.1");
        assert!(reported["port"].as_u64().unwrap() > 0);
    }

    proptest! {
        #[test]
        fn nothing_but_a_question_is_answered_and_nothing_shuts_the_echo(junk: Vec<Vec<u8>>) {
            let mut answerer = Answerer::new(key());

            for datagram in &junk {
                prop_assert_eq!(answerer.answer(datagram, || 1), None);
            }

            prop_assert!(answerer.answer(&datagram::question(&key(), 1), || 2).is_some());
        }
    }
}
