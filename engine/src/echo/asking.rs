//! The side that asks: a number of exchanges, one after the other, each with a deadline. What is lost is asked no more.

use super::datagram;
use super::datagram::LENGTH;
use super::{Key, Refusal};
use crate::clock::read_ns;
use serde::Serialize;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const MOST_EXCHANGES: u32 = 10_000;
/// For an answer, while none has come.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Afterwards this many times the shortest round trip, and at least [`LEAST_WAIT`].
const ROUND_TRIPS: u32 = 10;
const LEAST_WAIT: Duration = Duration::from_millis(50);
/// With no answer at all nobody is there.
const MOST_UNANSWERED: u32 = 3;
/// For all together: what came until then counts.
const LONGEST: Duration = Duration::from_secs(10);

/// A question and its answer; nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// By the clock here, before the question was sent.
    pub sent_ns: u64,
    /// By the clock there, between question and answer.
    pub there_ns: u64,
    /// By the clock here, after the answer had come.
    pub received_ns: u64,
}

/// What came of asking.
#[derive(Debug, Default, Serialize)]
pub struct Asked {
    /// At least one, in the order in which they were made.
    pub exchanges: Vec<Exchange>,
    /// Questions without an answer in time.
    pub lost: u32,
}

/// Ask with an address and a count as they stand on a command line.
///
/// # Errors
///
/// They are none, or as `ask`.
pub fn ask_by_address(address: &str, count: &str, key: &Key) -> Result<Asked, Refusal> {
    let whom = address
        .parse()
        .map_err(|_| Refusal::Call(format!("'{address}' is no address with a port, such as 192.0.2.1:4000")))?;
    match count.parse() {
        Ok(count @ 1..=MOST_EXCHANGES) => ask(whom, key, count),
        _ => Err(Refusal::Call(format!("'{count}' is no number of exchanges from 1 to {MOST_EXCHANGES}"))),
    }
}

/// Ask an echo for its time, `count` times at most.
///
/// # Errors
///
/// No answer came: nobody listens there, or with another key.
pub fn ask(whom: SocketAddr, key: &Key, count: u32) -> Result<Asked, Refusal> {
    let refused = |error: io::Error| Refusal::Machine(format!("{whom} cannot be asked for its time: {error}"));
    let socket = connected(whom).map_err(refused)?;
    let (mut asked, mut wait, mut number) = (Asked::default(), FIRST_WAIT, 0);
    let end = Instant::now() + LONGEST;
    for _ in 0..count {
        // Questions of this machine grow with its clock, whichever process asks them.
        number = read_ns(libc::CLOCK_MONOTONIC).max(number + 1);
        let deadline = end.min(Instant::now() + wait);
        match exchange(&socket, key, number, deadline) {
            Ok(Some(one)) => {
                asked.exchanges.push(one);
                let round_trip = Duration::from_nanos(one.received_ns - one.sent_ns);
                wait = wait.min((round_trip * ROUND_TRIPS).max(LEAST_WAIT));
            }
            Ok(None) => asked.lost += 1,
            // It was there, and is not any more.
            Err(_) if !asked.exchanges.is_empty() => break,
            Err(error) => return Err(refused(error)),
        }
        let is_alone = asked.exchanges.is_empty() && asked.lost >= MOST_UNANSWERED;
        if is_alone || Instant::now() >= end {
            break;
        }
    }
    if asked.exchanges.is_empty() {
        let questions = asked.lost;
        return Err(Refusal::Machine(format!(
            "{whom} answered none of {questions} questions for its time: there is no echo, it has another key, or a firewall \
             lets no UDP pass"
        )));
    }
    Ok(asked)
}

/// A socket that hears nobody else.
fn connected(whom: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = if whom.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(whom)?;
    Ok(socket)
}

/// One question, and its answer if that comes in time. Whatever else comes is passed over.
fn exchange(socket: &UdpSocket, key: &Key, number: u64, deadline: Instant) -> io::Result<Option<Exchange>> {
    let question = datagram::question(key, number);
    let mut room = [0; LENGTH + 1];
    let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
    // A timeout of zero would be none at all.
    socket.set_read_timeout(Some(left(deadline).max(Duration::from_millis(1))))?;
    let sent_ns = read_ns(libc::CLOCK_MONOTONIC);
    socket.send(&question)?;
    loop {
        match socket.recv(&mut room) {
            Ok(length) => {
                let received_ns = read_ns(libc::CLOCK_MONOTONIC);
                if let Some(there_ns) = datagram::time_of(key, number, &room[..length]) {
                    return Ok(Some(Exchange { sent_ns, there_ns, received_ns }));
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        let left = left(deadline);
        if left.is_zero() {
            return Ok(None);
        }
        socket.set_read_timeout(Some(left))?;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Answerer;
    use super::*;
    use crate::echo::datagram::Datagram;

    const OFFSET_NS: u64 = 1_000_000_000_000;

    fn key() -> Key {
        Key::new([3; 32])
    }

    /// Somebody at the other end who does with each question, by its place, what `behave` says.
    fn somebody(mut behave: impl FnMut(usize, &[u8], &mut Answerer) -> Vec<Datagram> + Send + 'static) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut answerer, mut room) = (Answerer::new(key()), [0; 100]);
            for place in 0.. {
                let (length, from) = socket.recv_from(&mut room).unwrap();
                for datagram in behave(place, &room[..length], &mut answerer) {
                    socket.send_to(&datagram, from).unwrap();
                }
            }
        });
        address
    }

    fn shifted() -> u64 {
        read_ns(libc::CLOCK_MONOTONIC) + OFFSET_NS
    }

    #[test]
    fn the_time_there_lies_between_question_and_answer() {
        let whom = somebody(|_, came, answerer| answerer.answer(came, shifted).into_iter().collect());

        let asked = ask(whom, &key(), 20).unwrap();

        assert_eq!(asked.exchanges.len() + asked.lost as usize, 20);
        for one in asked.exchanges {
            assert!((one.sent_ns..=one.received_ns).contains(&(one.there_ns - OFFSET_NS)), "{one:?}");
        }
    }

    #[test]
    fn what_is_lost_is_counted_and_the_rest_is_kept() {
        let lossy = |place: usize, came: &[u8], answerer: &mut Answerer| {
            answerer.answer(came, shifted).into_iter().filter(|_| place % 3 != 1).collect()
        };

        let asked = ask(somebody(lossy), &key(), 6).unwrap();

        assert!(asked.lost >= 2);
        assert_eq!(asked.exchanges.len() + asked.lost as usize, 6);
    }

    #[test]
    fn answers_to_others_and_of_others_are_passed_over() {
        let noisy = |_: usize, came: &[u8], answerer: &mut Answerer| {
            let stranger = Key::new([4; 32]);
            let number = datagram::number_of(&key(), came).unwrap();
            let right = answerer.answer(came, shifted);
            let wrong = [
                datagram::answer(&stranger, number, 1),
                datagram::answer(&key(), number - 1, 2),
                came.try_into().unwrap(),
            ];
            wrong.into_iter().chain(right).collect()
        };

        let asked = ask(somebody(noisy), &key(), 5).unwrap();

        assert!(asked.exchanges.iter().all(|one| one.there_ns > OFFSET_NS));
    }

    #[test]
    fn who_is_not_there_or_has_another_key_is_told_in_a_line() {
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let deaf = somebody(|_, _, _| Vec::new());

        for whom in [nobody, deaf] {
            let text = ask(whom, &key(), 4).unwrap_err().to_string();
            assert!(text.contains(&whom.to_string()) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn words_that_say_nothing_are_refused() {
        for (address, count) in [("somewhere:1", "5"), ("127.0.0.1", "5"), ("127.0.0.1:1", "0"), ("127.0.0.1:1", "1e4")]
        {
            assert!(matches!(ask_by_address(address, count, &key()), Err(Refusal::Call(_))), "{address} {count}");
        }
    }
}
