//! Whether the kind of an operation can do what its `pick`, `slot`, `size` and `advice` ask for, checked before a file
//! is touched.

use crate::plan::{Body, Distribution, FileRef, FileSet, Op, OpKind, Phase, Pick};
use crate::program::op_rules::{AdviceIn, Kept, LONGEST_ATTRIBUTE_BYTES, Names, PickOrders, SizeOf, Works};
use crate::sys::advice::Advice;

/// Whether a worker of a phase may come to remove a file of a set while another works on it by its name.
pub fn removes_beside(phase: &Phase, set: &str) -> bool {
    let workers: u64 = phase.jobs.iter().map(|job| u64::from(job.workers)).sum();
    let is_of_set = |file: &FileRef| matches!(file, FileRef::Set { set: named, .. } if named == set);
    // A script changes the files, not which of them the set has for others.
    let loops = phase.jobs.iter().map(|job| &job.body).filter(|body| matches!(body, Body::Loop { .. }));
    workers > 1 && loops.flat_map(Body::ops).any(|op| op.op.rules().takes_old() && is_of_set(&op.file))
}

/// Check an operation's `pick` and `slot` on a set. The text says what is wrong and what to write instead.
pub fn check_set(op: &Op, set: &FileSet, pick: &Pick, keeps: bool) -> Result<(), String> {
    let (kind, rules) = (op.op.name(), op.op.rules());
    check_pick(op.op, pick)?;
    if keeps && rules.keeps.is_none() {
        return Err(format!("{kind} leaves no file that a slot could keep; take the slot away"));
    }
    if set.existing_share >= 1.0 && rules.has_two_names() {
        return Err(format!(
            "{kind} needs free names, and all {} of file set '{}' exist; give it an existing_share below 1",
            set.files, set.name
        ));
    }
    if rules.is_of_directories && set.existing_share > 0.0 {
        return Err(format!(
            "{kind} works on directories, and file set '{}' begins with files; use a set of its own with \
             existing_share = 0",
            set.name
        ));
    }
    Ok(())
}

fn check_pick(kind: OpKind, pick: &Pick) -> Result<(), String> {
    let (name, rules) = (kind.name(), kind.rules());
    let is_new = *pick == Pick::New {};
    if matches!(pick, Pick::Listed {} | Pick::Shuffled {}) {
        return match rules.orders {
            PickOrders::OfExisting => Ok(()),
            PickOrders::OfFree if *pick == (Pick::Shuffled {}) => Ok(()),
            PickOrders::OfFree | PickOrders::None => Err(format!(
                "{name} does not take files in that order: listed goes with stat, open and unlink, shuffled with these and \
                 create; use another pick"
            )),
        };
    }
    match rules.names {
        Names::Make if !is_new => Err(format!("{name} makes a new name; use pick 'new'")),
        Names::Take | Names::Move if *pick != (Pick::Existing {}) => {
            Err(format!("{name} takes the files of the set in turn; use pick 'existing'"))
        }
        Names::Stay | Names::Add if is_new => {
            Err(format!("{name} works on what exists; pick 'new' goes with create, mkdir and spawn"))
        }
        Names::Stay
            if rules.works == Works::OnDirectory
                && !matches!(pick, Pick::Next {} | Pick::Own {} | Pick::Random { .. }) =>
        {
            Err(format!("{name} lists the set's directories; use pick 'next', 'random' or 'own'"))
        }
        Names::Stay | Names::Make | Names::MayMake | Names::Take | Names::Move | Names::Add => Ok(()),
    }
}

/// Whether an operation's advice is one that it knows: that of posix_fadvise(2) for `advise`, `wait` for
/// `sync_file_range`.
pub fn check_advice(op: &Op) -> Result<(), String> {
    let (name, advice) = (&op.name, op.flags.advice.as_str());
    let known = match op.op.rules().advice {
        AdviceIn::Fadvise if Advice::named(advice).is_some() => return Ok(()),
        AdviceIn::Fadvise => Advice::names(),
        AdviceIn::Wait if matches!(advice, "" | "wait") => return Ok(()),
        AdviceIn::Wait => "'wait' or nothing".to_owned(),
        AdviceIn::None if advice.is_empty() => return Ok(()),
        AdviceIn::None => return Err(format!("operation '{name}': {} takes no advice; take it away", op.op.name())),
    };
    Err(format!("operation '{name}': advice is '{advice}'; it can be {known}"))
}

/// Whether a size can be that of an operation, whose values are at most `longest_bytes`.
pub fn check_size(op: &Op, longest_bytes: u64) -> Result<(), String> {
    match op.op.rules().size {
        SizeOf::Attribute if longest_bytes > LONGEST_ATTRIBUTE_BYTES as u64 => {
            Err(format!("operation '{}': size is that of the value; it has at most 64 KiB", op.name))
        }
        SizeOf::LengthAboveZero if op.size == (Distribution::Fixed { value: 0.0 }) => {
            Err(format!("operation '{}' is of 0 bytes; size is the length of its range", op.name))
        }
        SizeOf::Nothing | SizeOf::Transfer | SizeOf::Attribute | SizeOf::Length | SizeOf::LengthAboveZero => Ok(()),
    }
}

/// What the operations of a job leave in their slots, and what they expect there.
#[derive(Debug, Default)]
pub struct SlotUse {
    kept: Vec<(usize, Kept, String)>,
    used: Vec<(usize, OpKind, String)>,
}

impl SlotUse {
    /// An operation keeps its file in a slot.
    pub fn keep(&mut self, slot: usize, op: &Op) {
        if let Some(kept) = op.op.rules().keeps {
            self.kept.push((slot, kept, op.name.clone()));
        }
    }

    /// An operation works on a slot.
    pub fn need(&mut self, slot: usize, op: &Op) {
        self.used.push((slot, op.op, op.name.clone()));
    }

    /// Whether every slot that is used holds, after each operation that fills it, what its users need.
    pub fn check(&self) -> Result<(), String> {
        for (slot, kind, name) in &self.used {
            let mut fillers = self.kept.iter().filter(|(filled, ..)| filled == slot).peekable();
            if fillers.peek().is_none() {
                return Err(format!(
                    "operation '{name}' works on slot {slot}, which no operation of this job fills; give an earlier \
                     one 'slot = {slot}' beside its set"
                ));
            }
            for (_, kept, filler) in fillers {
                let works = kind.rules().works;
                if works == Works::OnOwnHandle && *kept != Kept::Handle {
                    return Err(format!(
                        "operation '{name}' closes slot {slot}, but '{filler}' leaves no handle there that is its to \
                         close; only create and open do"
                    ));
                }
                if works == Works::OnHandle && *kept == Kept::Name {
                    return Err(format!(
                        "operation '{name}' needs an open file, but '{filler}' leaves only a name in slot {slot}; open \
                         it into the slot"
                    ));
                }
            }
        }
        Ok(())
    }
}
