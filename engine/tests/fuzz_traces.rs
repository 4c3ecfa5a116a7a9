//! Whatever a trace holds, it is read or refused in words: 100 changed traces of each format, more with `ASSAY_FUZZ`.

use assay_engine::workingset::{TraceError, answer};
use serde_json::{Value, json};
use std::env;
use std::fs;
use tempfile::NamedTempFile;

const WORDS: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"18446744073709551615",
    b"4294967296",
    b"99999999999999999999999999",
    b"1e999",
    b",",
    b"\n",
    b"\0",
    b"\"",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"+",
];

/// Whole traces, with what their reader is told.
fn traces() -> Vec<(Vec<u8>, Value)> {
    let lines = |line: fn(u64) -> String| (0..12).map(line).collect::<String>().into_bytes();
    let fio = |version: u8, time: &str| {
        format!(
            "fio version {version} iolog\n{time}/f add\n{time}/f open\n{time}/f read 4096 8192\n{time}/f write 0 512\n"
        )
    };
    let records = |record: fn(u64) -> Vec<u8>| (0..12).flat_map(record).collect::<Vec<u8>>();
    let columns = json!({"columns": {
        "time": {"name": "t", "unit": 1000}, "offset": {"name": "o", "unit": 512}, "length": {"name": "l"},
        "op": {"name": "4"}, "device": {"name": "d"},
    }});
    vec![
        (fio(2, "").into_bytes(), json!({})),
        (fio(3, "7 ").into_bytes(), json!({})),
        (lines(|at| format!("8,0 3 {at} 0.{at:09} 6 Q {} {at} + 8 [fio]\n", ["R", "WS"][at as usize % 2])), json!({})),
        (lines(|at| format!("12816637200306{at:04},h,0,Read,{at}096,4096,1331\n")), json!({})),
        (lines(|at| format!("{at} 8 0 {at}\n")), json!({})),
        (format!("t,o,l,op,d\n{}", "1.5,8,4096,r,sda\n2,9,512,1,sdb\n".repeat(4)).into_bytes(), columns),
        (
            records(|at| {
                let (numbers, place) = ([1_u32, 4096, 1], [at, at * 1000]);
                let kinds = [0x28_u16, 0x100].map(u16::to_le_bytes).concat();
                [numbers.map(u32::to_le_bytes).concat(), kinds, place.map(u64::to_le_bytes).concat()].concat()
            }),
            json!({}),
        ),
        (
            records(|at| {
                let head = [0x6561_7407_u32, 0].map(u32::to_le_bytes).concat();
                let tail = [4096_u32, 1 | 1 << 16, 1, 8 << 20, 0, 3 << 16].map(u32::to_le_bytes).concat();
                [head, [at, at].map(u64::to_le_bytes).concat(), tail, b"abc".to_vec()].concat()
            }),
            json!({}),
        ),
        (
            records(|at| {
                let end = [&4096_u32.to_le_bytes()[..], &(-1_i64).to_le_bytes()].concat();
                [(at as u32).to_le_bytes().to_vec(), (at % 5).to_le_bytes().to_vec(), end].concat()
            }),
            json!({}),
        ),
    ]
}

/// What is asked besides the curve.
fn asked(place: u64) -> Value {
    match place % 3 {
        0 => json!({}),
        1 => json!({"tier": {"fraction": 0.5, "period_s": 60, "extent_bytes": 8192}, "exact_keys": 2}),
        _ => {
            let names = ["lru", "lfu", "fifo", "arc", "s3-fifo", "two-q"];
            json!({"policies": {"names": names, "sizes": [1, 3], "rate": 1.0}})
        }
    }
}

/// A trace with a few places changed.
fn changed(sample: &[u8], chance: &mut fastrand::Rng) -> Vec<u8> {
    let mut data = sample.to_vec();
    for _ in 0..[1, 1, 1, 2, 4][chance.usize(..5)] {
        let at = chance.usize(..=data.len());
        let end = (at + [1, 1, 2, 8, 60][chance.usize(..5)]).min(data.len());
        match chance.u8(..5) {
            0 => drop(data.drain(at..end)),
            1 => data[at..end].iter_mut().for_each(|byte| *byte = chance.u8(..)),
            2 => data.truncate(at),
            3 => {
                let again = data[at..end].to_vec();
                data.splice(at..at, again);
            }
            _ => drop(data.splice(at..end, WORDS[chance.usize(..WORDS.len())].iter().copied())),
        }
    }
    data
}

/// What comes of a question on a trace.
fn outcome(file: &NamedTempFile, also: &Value, asked: &Value) -> Result<(), TraceError> {
    let mut question = json!({
        "traces": [{"path": file.path(), "name": "trace"}],
        "block_bytes": 4096,
        "exact_keys": 100,
        "most_keys": 64,
    });
    for more in [also, asked] {
        question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    answer(&question.to_string(), std::io::sink())
}

#[test]
fn a_changed_trace_is_read_or_refused() {
    let cases = env::var("ASSAY_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(100_u64);
    let seed = env::var("ASSAY_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let file = NamedTempFile::new().unwrap();
    for (kind, (sample, also)) in traces().into_iter().enumerate() {
        fs::write(file.path(), &sample).unwrap();
        assert!(outcome(&file, &also, &json!({})).is_ok(), "trace {kind} is taken as it is");
        let mut chance = fastrand::Rng::with_seed(seed);
        for case in 0..cases {
            fs::write(file.path(), changed(&sample, &mut chance)).unwrap();

            if let Err(error) = outcome(&file, &also, &asked(case)) {
                assert!(matches!(error, TraceError::Input(_)), "trace {kind}, case {case}: {error}");
            }
        }
    }
}
