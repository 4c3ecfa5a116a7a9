//! What went over the network interfaces? Source `net`, one instance an interface.
//!
//! /proc/net/dev of the network namespace that the engine runs in: inside a container these are the container's
//! interfaces, not the host's. Bytes are counted with link-layer headers.

use super::procfile::ProcFile;
use crate::events::HostSample;

/// Columns after the interface name.
const FIELDS: [(usize, &str); 8] = [
    (0, "rx_bytes"),
    (1, "rx_packets"),
    (2, "rx_errors"),
    (3, "rx_drops"),
    (8, "tx_bytes"),
    (9, "tx_packets"),
    (10, "tx_errors"),
    (11, "tx_drops"),
];

/// /proc/net/dev.
pub(super) struct Net(ProcFile);

impl Net {
    /// None without the file.
    pub fn open() -> Option<Self> {
        ProcFile::open("/proc/net/dev").map(Self)
    }

    /// All interfaces.
    pub fn sample(&self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        let Some(table) = self.0.read(text) else { return };
        samples.extend(table.lines().filter_map(parse));
    }
}

/// One line; None for the two of the heading. The name ends at the last colon: an alias has one of its own.
fn parse(line: &str) -> Option<HostSample> {
    let (name, numbers) = line.rsplit_once(':')?;
    let columns: Vec<u64> = numbers.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    if columns.len() < 12 {
        return None;
    }
    Some(HostSample::new("net", name.trim(), FIELDS.iter().map(|&(column, field)| (field, columns[column] as f64))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn received_comes_before_transmitted() {
        let sample = parse(
            "  eth0: 485597402   19672    1    2    0     0          0         0   772835    9294    3    4 0 0 0 0",
        );

        let sample = sample.unwrap();
        assert_eq!((sample.source.as_str(), sample.instance.as_str()), ("net", "eth0"));
        let expected = [
            ("rx_bytes", 485_597_402.0),
            ("rx_packets", 19_672.0),
            ("rx_errors", 1.0),
            ("rx_drops", 2.0),
            ("tx_bytes", 772_835.0),
            ("tx_packets", 9_294.0),
            ("tx_errors", 3.0),
            ("tx_drops", 4.0),
        ];
        assert_eq!(sample.values.len(), expected.len());
        for (name, value) in expected {
            assert_eq!(sample.values[name], value, "{name}");
        }
    }

    #[test]
    fn the_heading_is_no_interface() {
        assert!(parse("Inter-|   Receive                                                |  Transmit").is_none());
        assert!(parse(" face |bytes    packets errs drop fifo frame compressed multicast|bytes").is_none());
    }

    #[test]
    fn loopback_grows_by_what_was_sent_over_it() {
        const SENT_BYTES: usize = 4 << 20;
        let net = Net::open().unwrap();
        let loopback = || {
            let mut samples = Vec::new();
            net.sample(&mut Vec::new(), &mut samples);
            let values = samples.into_iter().find(|sample| sample.instance == "lo").expect("a loopback").values;
            (values["rx_bytes"], values["tx_bytes"])
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut back, _) = listener.accept().unwrap();
        let before = loopback();

        let sender = std::thread::spawn(move || out.write_all(&vec![1; SENT_BYTES]).unwrap());
        let received = back.read_to_end(&mut Vec::new()).unwrap();
        sender.join().unwrap();

        let after = loopback();
        assert_eq!(received, SENT_BYTES);
        assert!(after.0 - before.0 >= SENT_BYTES as f64 && after.1 - before.1 >= SENT_BYTES as f64);
    }
}
