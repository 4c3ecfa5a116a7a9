//! Traces of each format, from their bytes to the answer.

use super::super::answer;
use serde_json::{Value, json};
use std::io::Write;

/// The answer to a question on a trace with these bytes.
fn answered(bytes: &[u8], also: Value) -> Result<Value, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let mut question = json!({
        "traces": [{"path": file.path(), "name": "trace"}],
        "block_bytes": 4096,
        "exact_keys": 100_000,
        "most_keys": 8_192,
    });
    question.as_object_mut().unwrap().extend(also.as_object().unwrap().clone());
    let mut output = Vec::new();
    answer(&question.to_string(), &mut output).map_err(|error| error.to_string())?;
    let line: Value = serde_json::from_slice(output.split(|&byte| byte == b'\n').rev().nth(1).unwrap()).unwrap();
    Ok(line["answer"].clone())
}

/// Format, devices, requests, bytes, blocks, times and footprint of an answer.
fn shown(found: &Value) -> Value {
    let totals = &found["totals"];
    json!([
        found["traces"][0]["format"],
        found["devices"],
        [totals["reads"], totals["writes"], totals["read_bytes"], totals["write_bytes"]],
        [totals["read_blocks"], totals["write_blocks"]],
        [found["epoch"], totals["begin_ns"], totals["end_ns"]],
        found["curve"]["footprint_blocks"],
    ])
}

fn vscsi(version: u16, command: u16, length: u32, sector: u64, time_us: u64) -> Vec<u8> {
    let (command, version, ids) = (command.to_le_bytes(), (version << 8).to_le_bytes(), 7_u32.to_le_bytes());
    let (length, ends) = (length.to_le_bytes(), [sector.to_le_bytes(), time_us.to_le_bytes()].concat());
    if version[1] == 1 {
        [&ids[..], &length, &ids, &command, &version, &ends].concat()
    } else {
        [&command[..], &version, &ids, &length, &ids, &ends, &[0; 8]].concat()
    }
}

#[test]
fn each_format_is_recognised_and_its_fields_have_their_units() {
    let fio2 = "fio version 2 iolog\n/d/f add\n/d/f open\n/d/f read 8192 4096\n/d/f wait 1500\n\
                /d/f write 0 8192\n/d/f sync 0 0\n/d/f close\n";
    let fio3 = "fio version 3 iolog\n1 /d/f add\n20 /d/f read 8192 4096\n21 /d/f write 0 8192\n";
    let blkparse = "  8,0  3  1  0.000000100  697  Q  R 16 + 8 [fio]\n\
                    \x20 8,0  3  2  0.000000200  697  D  R 16 + 8 [fio]\n\
                    \x20 8,0  3  3  0.000000300  697  Q WS 0 + 16 [fio]\n\
                    \x20 8,0  3  4  0.0000004 697 Q FN [fio]\n\nCPU0 (sda):\n";
    let snia = "128166372003061629,hm,0,Read,8192,4096,1331\n128166372016382155,hm,0,Write,0,8192,2326\n";
    let vscsi1 = [vscsi(1, 0x28, 4096, 16, 5), vscsi(1, 0x2a, 8192, 0, 9)].concat();
    let vscsi2 = [vscsi(2, 0x88, 4096, 16, 5), vscsi(2, 0x00, 0, 0, 6), vscsi(2, 0x8a, 8192, 0, 9)].concat();
    let arc = "16 8 0 0\n0 16 0 1\n";
    let rw = json!([1, 1, 4096, 8192]);
    for (bytes, wanted) in [
        (fio2.as_bytes(), json!(["fio", ["/d/f"], rw, [1, 2], ["own", 0, 1_500_000], 3.0])),
        (fio3.as_bytes(), json!(["fio", ["/d/f"], rw, [1, 2], ["own", 20_000_000, 21_000_000], 3.0])),
        (blkparse.as_bytes(), json!(["blkparse", ["8,0"], rw, [1, 2], ["own", 100, 300], 3.0])),
        (
            snia.as_bytes(),
            json!([
                "snia",
                ["hm/0"],
                rw,
                [1, 2],
                ["unix", 1_172_163_600_306_162_900_u64, 1_172_163_601_638_215_500_u64],
                3.0
            ]),
        ),
        (&vscsi1[..], json!(["vscsi", ["trace"], rw, [1, 2], ["own", 5_000, 9_000], 3.0])),
        (&vscsi2[..], json!(["vscsi", ["trace"], rw, [1, 2], ["own", 5_000, 9_000], 3.0])),
        (arc.as_bytes(), json!(["arc", ["trace"], [2, 0, 12_288, 0], [3, 0], ["none", 0, 0], 3.0])),
    ] {
        assert_eq!(shown(&answered(bytes, json!({})).unwrap()), wanted);
    }
}

#[test]
fn binary_events_of_blktrace_count_where_they_are_asked_for() {
    let event = |action: u32, sector: u64, bytes: u32, attached: &[u8]| {
        let mut record = vec![0; 48];
        record[0..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes());
        record[8..16].copy_from_slice(&(sector * 10).to_le_bytes());
        record[16..24].copy_from_slice(&sector.to_le_bytes());
        record[24..28].copy_from_slice(&bytes.to_le_bytes());
        record[28..32].copy_from_slice(&action.to_le_bytes());
        record[36..40].copy_from_slice(&((8_u32 << 20) + 1).to_le_bytes());
        record[46..48].copy_from_slice(&(attached.len() as u16).to_le_bytes());
        record.extend(attached);
        record
    };
    let (read, write, notify, discard) = (1 << 16, 1 << 17, 1 << 26, 1 << 29);
    let trace = [
        event(notify, 0, 0, b"a process"),
        event(1 | read, 8, 4096, b""),
        event(1 | write, 16, 8192, b"xyz"),
        event(7 | write, 16, 12_288, b""),
        event(1 | write | discard, 16, 8192, b""),
        vec![7, 4],
    ]
    .concat();

    let found = answered(&trace, json!({})).unwrap();
    let issued = answered(&trace, json!({"at_issue": true})).unwrap();

    assert_eq!(shown(&found), json!(["blktrace", ["8,1"], [1, 1, 4096, 8192], [1, 2], ["own", 80, 160], 3.0]));
    assert_eq!(shown(&issued)[2], json!([0, 1, 0, 12_288]));
    assert_eq!(found["notes"].as_array().unwrap().len(), 2);
}

#[test]
fn objects_are_blocks_of_their_own_and_a_cut_record_is_left_out() {
    let record = |time: u32, object: u64, next: i64| {
        [&time.to_le_bytes()[..], &object.to_le_bytes(), &70_000_u32.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    let mut trace: Vec<u8> = (0..20).flat_map(|time| record(time, u64::MAX - u64::from(time % 5), -1)).collect();
    trace.extend([1, 2, 3]);

    let found = answered(&trace, json!({})).unwrap();

    assert_eq!(
        shown(&found),
        json!(["oracle-general", [], [20, 0, 1_400_000, 0], [20, 0], ["own", 0, 19_000_000_000_u64], 5.0])
    );
    assert_eq!(found["notes"], json!(["the last record is cut off, and is left out"]));
    assert_eq!(found["curve"]["windows"][0]["used"], json!([[0, 5.0]]));
}

#[test]
fn a_csv_of_any_program_is_read_by_its_columns() {
    let columns = json!({
        "time": {"name": "ts", "unit": 1_000_000},
        "offset": {"name": "lba", "unit": 512},
        "length": {"name": "4", "unit": 1},
        "op": {"name": "op", "unit": 1},
        "device": {"name": "dev", "unit": 1},
    });
    let text = "ts;lba;op;bytes;dev\n1.5;16;2a;8192;\"a;b\"\n3;0;r;4096;c\n";

    let found = answered(text.as_bytes(), json!({"columns": columns})).unwrap();
    let objects = answered(b"heading\n5\n5\n", json!({"columns": {"offset": {"name": "1", "unit": 4096}}})).unwrap();

    assert_eq!(
        shown(&found),
        json!(["csv", ["a;b", "c"], [1, 1, 4096, 8192], [1, 2], ["own", 1_500_000, 3_000_000], 3.0])
    );
    assert_eq!(shown(&objects)[5], json!(1.0));
}

#[test]
fn what_is_no_trace_is_refused_with_its_place() {
    let offset = json!({"columns": {"offset": {"name": "where"}}});
    for (bytes, also, wanted) in [
        (&b""[..], json!({}), "trace: it is empty"),
        (b"hello\n", json!({}), "trace: it is of no format that is known"),
        (b"fio version 3 iolog\n1 f read 0 x\n", json!({}), "trace: line 2: the length is no whole number below 2^32"),
        (b"fio version 2 iolog\nf add\n", json!({}), "no trace has a request that counts"),
        (b"1 2 3 4\n1 2 3 4\nx\n", json!({}), "trace: line 3: the first block is missing, or is no number: \"x\""),
        (b"1 4000000 3 4\n", json!({}), "more than 256 MiB"),
        (b"36028797018963968 1 3 4\n", json!({}), "the first block is missing"),
        (b"36028797018963000 1 3 4\n", json!({}), "beyond 2^48 blocks"),
        (b"a,b\n1,2\n", offset, "the heading has no column 'where'"),
        (b"x", json!({"format": "csv"}), "--columns"),
        (b"x", json!({"format": "vscsi"}), "no version of vscsiStats"),
        (b"x", json!({"block_bytes": 1000}), "a power of two"),
        (b"1 2 3 4\n", json!({"tier": {"fraction": 0.1, "period_s": 60, "extent_bytes": 4096}}), "tiers need times"),
    ] {
        let refused = answered(bytes, also).unwrap_err();
        assert!(refused.contains(wanted), "{refused:?} has no {wanted:?}");
    }
}

#[test]
fn traces_of_several_disks_are_one_load_in_the_order_of_their_times() {
    let folder = tempfile::tempdir().unwrap();
    let lines = |disk: u64| -> String {
        (0..6)
            .map(|place| {
                format!("{},h,{disk},Read,{},4096,1\n", 128_166_372_003_061_629 + 10 * place + disk, 4096 * (place % 2))
            })
            .collect()
    };
    let paths = [0, 1].map(|disk| folder.path().join(disk.to_string()));
    (0..2).for_each(|disk| std::fs::write(&paths[disk], lines(disk as u64)).unwrap());
    let traces = json!([{"path": paths[0], "name": "0"}, {"path": paths[1], "name": "1"}]);

    let found = answered(b"", json!({"traces": traces})).unwrap();

    // Used in turns: 0 a, 1 a, 0 b, 1 b, 0 a, ...: three others between two uses of each block.
    let served: Vec<_> =
        found["curve"]["served"].as_array().unwrap().iter().map(|one| one["hit"].as_f64().unwrap()).collect();
    assert_eq!(served, [0.0, 0.0, 0.0, 8.0 / 12.0]);
    assert_eq!((&found["totals"]["late"], found["devices"].as_array().unwrap().len()), (&json!(0), 2));
}
