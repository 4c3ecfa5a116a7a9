//! Loads that cannot be: refused before anything is laid out, in words.

use crate::harness::{Place, act, on_set, on_slot, passes, set};
use assay_engine::plan::{FileRef, OpKind, Pick};

#[test]
fn slots_that_cannot_serve_are_refused_in_words() {
    let lend_and_close =
        vec![act(on_set(OpKind::Write, "write", 512.0, Some(0))), act(on_slot(OpKind::Close, "close", 0.0))];
    let name_and_read =
        vec![act(on_set(OpKind::Stat, "stat", 0.0, Some(0))), act(on_slot(OpKind::Read, "read", 512.0))];
    let nothing = vec![act(on_slot(OpKind::Fsync, "fsync", 0.0))];

    for (actions, part) in [
        (lend_and_close, "leaves no handle there that is its to close"),
        (name_and_read, "leaves only a name in slot 0; open it into the slot"),
        (nothing, "which no operation of this job fills"),
        (vec![act(on_set(OpKind::Unlink, "unlink", 0.0, Some(0)))], "take the slot away"),
        (vec![act(on_slot(OpKind::Rename, "rename", 0.0))], "needs a file of a set, not a slot"),
    ] {
        Place::new().one(set(2, 0.5, 4096.0), actions, passes(1)).check_refused(part);
    }
}

#[test]
fn loads_that_a_file_set_cannot_serve_are_refused_in_words() {
    let mut cold = on_set(OpKind::Fsync, "fsync", 0.0, None);
    cold.flags.cold_buffer = true;
    let mut picked = on_set(OpKind::Rename, "rename", 0.0, None);
    picked.file = FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None };
    for (op, existing_share, part) in [
        (on_set(OpKind::Rename, "rename", 0.0, None), 1.0, "give it an existing_share below 1"),
        (picked, 0.5, "use pick 'existing'"),
        (on_set(OpKind::Mkdir, "mkdir", 0.0, None), 0.5, "existing_share = 0"),
        (on_set(OpKind::Advise, "advise", 0.0, None), 0.5, "it can be normal"),
        (on_set(OpKind::Setxattr, "set", 70_000.0, None), 0.5, "at most 64 KiB"),
        (on_set(OpKind::Fallocate, "allocate", 0.0, None), 0.5, "is of 0 bytes"),
        (cold, 0.5, "cold_buffer and chunk_bytes are for reads and writes"),
    ] {
        Place::new().one(set(4, existing_share, 4096.0), vec![act(op)], passes(1)).check_refused(part);
    }
}
