//! What cannot be done on a block device, refused before anything is done to it.

use crate::backend::uri::Scheme;
use crate::draw::sizes::Sampler;
use crate::error::{EngineError, Result};
use crate::plan::{
    Access, Allocate, Distribution, FileRef, FileSet, Job, Layout, Op, OpKind, Phase, Plan, Region, Reuse, Step, Target,
};
use crate::program::op::{FileSource, Program};
use crate::units::bytes_text;

const NO_DISCARD_OF_FILES: &str =
    "only a block device can be discarded; punch_hole gives a range of a file back to its file system";

/// The target that a set lies on, if that is a block device.
fn device_of<'a>(plan: &'a Plan, set: &FileSet) -> Option<&'a Target> {
    plan.targets.iter().find(|target| target.name == set.target && is_device(target))
}

fn is_device(target: &Target) -> bool {
    matches!(Scheme::of(&target.uri), Ok((Scheme::Block, _)))
}

/// Check a set by itself: on a device it is the device's first bytes.
pub fn check_set(plan: &Plan, set: &FileSet) -> Result<()> {
    let Some(target) = device_of(plan, set) else { return Ok(()) };
    let why = if set.files != 1 || set.existing_share < 1.0 || set.layout != (Layout::Flat {}) {
        "a block device is one file, in no directory: files = 1, existing_share = 1 and a flat layout"
    } else if !matches!(set.size, Distribution::Fixed { .. }) {
        "a block device has one size; give a fixed one, up to the device's"
    } else if set.allocate != Allocate::Write {
        "a block device has no holes and nothing to allocate; use allocate = \"write\""
    } else if set.content.stamped {
        "stamped content needs a file beside it for its history, and a block device has no place for one"
    } else if set.reuse != Reuse::Trust && !target.destroy_data {
        "laying it out would overwrite the device; use reuse = \"trust\", or allow that its data is destroyed"
    } else {
        return Ok(());
    };
    Err(EngineError::Plan(format!("file set '{}' on {}: {why}", set.name, target.uri)))
}

/// Check a compiled job. The text says what is wrong.
pub fn check_job(plan: &Plan, job: &Job, program: &Program) -> Result<()> {
    let device = |set: usize| device_of(plan, &plan.file_sets[set]);
    let refuse = |text: String| Err(EngineError::Plan(text));
    let Some(target) = program.sets.iter().find_map(|&set| device(set)) else {
        return match program.ops().find(|op| op.kind == OpKind::Discard) {
            Some(op) => refuse(format!("operation '{}': {NO_DISCARD_OF_FILES}", op.name)),
            None => Ok(()),
        };
    };
    if job.open.append {
        return refuse("a block device keeps its size, so nothing is appended to it".to_owned());
    }
    for op in program.ops() {
        let is_on_device = match &op.file {
            FileSource::Opened { opened, .. } => device(program.opened[*opened].set).is_some(),
            FileSource::Named { set, .. } => device(*set).is_some(),
            // What it holds came from another operation.
            FileSource::Slot(_) => true,
        };
        if !is_on_device {
            if op.kind == OpKind::Discard {
                return refuse(format!("operation '{}': {NO_DISCARD_OF_FILES}", op.name));
            }
            continue;
        }
        if empties(op.kind) && (matches!(op.file, FileSource::Slot(_)) || program.script.is_some()) {
            return refuse(format!(
                "operation '{}': on a block device {} works on a set, in a loop: neither on a slot nor in a script",
                op.name,
                op.kind.name()
            ));
        }
        if !is_possible(op.kind) {
            return refuse(format!("operation '{}': a block device has no {}", op.name, op.kind.name()));
        }
        if op.access == (Access::Append {}) {
            return refuse(format!("operation '{}' appends, and a block device keeps its size", op.name));
        }
    }
    let writes =
        program.opened.iter().find(|opened| opened.write && device(opened.set).is_some_and(|on| !on.destroy_data));
    match writes {
        Some(_) => refuse(format!("it writes to {}, whose data is not to be destroyed", target.uri)),
        None => Ok(()),
    }
}

/// Whether a device knows operations of a kind: what has neither a name nor attributes, and leaves its size.
const fn is_possible(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Read
            | OpKind::Write
            | OpKind::Fsync
            | OpKind::Fdatasync
            | OpKind::SyncFileRange
            | OpKind::PunchHole
            | OpKind::Discard
            | OpKind::WriteZeroes
            | OpKind::Advise
            | OpKind::Fstat
    )
}

/// Whether a device holds zeros, or nothing, where an operation of a kind was.
const fn empties(kind: OpKind) -> bool {
    matches!(kind, OpKind::PunchHole | OpKind::Discard | OpKind::WriteZeroes)
}

/// Check ranges that are to be discarded or zeroed against the logical blocks of the devices that they lie on, which
/// `block_bytes` gives by the position of a file set; None: it is on no device.
///
/// # Errors
///
/// A Plan error for a range that is no whole number of blocks, or may be none.
pub fn check_ranges(plan: &Plan, block_bytes: impl Fn(usize) -> Option<u64>) -> Result<()> {
    for (phase, job) in plan.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job))) {
        for op in job.body.ops().filter(|op| empties(op.op)) {
            let FileRef::Set { set, .. } = &op.file else { continue };
            let Some(position) = plan.file_sets.iter().position(|known| known.name == *set) else { continue };
            let Some(block_bytes) = block_bytes(position) else { continue };
            if let Some(text) = misaligned(op, &plan.file_sets[position], block_bytes)? {
                return Err(EngineError::Plan(format!(
                    "phase '{}', job '{}': operation '{}': {text}",
                    phase.name, job.name, op.name
                )));
            }
        }
    }
    Ok(())
}

/// What of an operation is no whole number of blocks, in words.
fn misaligned(op: &Op, set: &FileSet, block_bytes: u64) -> Result<Option<String>> {
    let takes = format!("the device takes whole blocks of {}", bytes_text(block_bytes));
    let Some(sizes) = Sampler::new(&op.size)?.values() else {
        return Ok(Some(format!("its size is drawn, and {takes}; write a fixed size, or rows of some")));
    };
    let mut numbers: Vec<_> = sizes.into_iter().map(|size| ("size", size)).collect();
    let region = match &op.access {
        Access::Sequential { region, .. } | Access::Stream { region, .. } | Access::Backward { region, .. } => region,
        Access::Stride { region, stride_bytes, .. } => {
            numbers.push(("stride", *stride_bytes));
            region
        }
        Access::Random { region, align_bytes, .. } => {
            numbers.push(("align", *align_bytes));
            region
        }
        Access::Append {} | Access::Whole { .. } => &Region::Whole {},
    };
    match (region, &set.size) {
        (Region::Range { from_bytes, length_bytes }, _) => {
            numbers.extend([("from", *from_bytes), ("length", *length_bytes)]);
        }
        // The last operation of a pass ends where the set ends.
        (_, Distribution::Fixed { value }) => numbers.push(("the size of its file set", *value as u64)),
        _ => {}
    }
    Ok(numbers
        .into_iter()
        .find(|(_, bytes)| bytes % block_bytes != 0)
        .map(|(what, bytes)| format!("{what} is {bytes} bytes, and {takes}; write a multiple of that")))
}

/// Check the steps of a phase. The text says what is wrong.
pub fn check_steps(plan: &Plan, phase: &Phase) -> Result<()> {
    for step in phase.before.iter().chain(&phase.after) {
        if let Step::Discard { set } = step {
            check_discard(plan, set).map_err(|text| EngineError::Plan(format!("phase '{}': {text}", phase.name)))?;
        }
        let (word, target) = match step {
            Step::Fill { target, .. } => ("fill", Some(target)),
            Step::Age { set, .. } => ("age", set_named(plan, set).map(|set| &set.target)),
            _ => continue,
        };
        let target = target.and_then(|name| plan.targets.iter().find(|candidate| candidate.name == *name));
        if let Some(target) = target.filter(|target| is_device(target)) {
            let text = format!(
                "phase '{}': {} is a block device, which the step {word} can do nothing with",
                phase.name, target.uri
            );
            return Err(EngineError::Plan(text));
        }
    }
    Ok(())
}

fn check_discard(plan: &Plan, set: &str) -> std::result::Result<(), String> {
    match set_named(plan, set).map(|set| device_of(plan, set)) {
        Some(None) => Err(format!(
            "discard '{set}': only a block device can be discarded; name one, as block:/dev/NAME, with --destroy-data"
        )),
        Some(Some(target)) if !target.destroy_data => {
            Err(format!("discard '{set}': it would destroy the data of {}, which is not allowed", target.uri))
        }
        _ => Ok(()),
    }
}

fn set_named<'a>(plan: &'a Plan, name: &str) -> Option<&'a FileSet> {
    plan.file_sets.iter().find(|set| set.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::plans;
    use crate::exact::plans::{act, on_set, on_slot, phase};
    use crate::plan::{Op, Stop};
    use crate::program::compile::compile;

    fn on_device() -> FileSet {
        FileSet { reuse: Reuse::Trust, ..FileSet::plain("data", "here", 1, 1e6, Layout::Flat {}) }
    }

    fn plan(set: FileSet, destroy_data: bool) -> Plan {
        let mut plan = plans::plan("block:/dev/x".to_owned(), set, Vec::new());
        plan.targets[0].destroy_data = destroy_data;
        plan
    }

    fn refusal(op: Op, destroy_data: bool) -> Option<String> {
        let plan = plan(on_device(), destroy_data);
        let job = plans::job("load", vec![act(op)], Stop::default());
        let program = compile(&job, &phase(Vec::new(), Vec::new()), &plan.file_sets).unwrap();
        check_job(&plan, &job, &program).err().map(|error| error.to_string())
    }

    #[test]
    fn nothing_is_written_that_may_not_be_destroyed() {
        for kind in [OpKind::Read, OpKind::Fdatasync, OpKind::Advise, OpKind::Fstat] {
            let mut op = on_set(kind, "one", 4096.0, None);
            if kind == OpKind::Advise {
                "random".clone_into(&mut op.flags.advice);
            }
            assert_eq!(refusal(op, false), None, "{kind:?}");
        }
        for kind in [OpKind::Write, OpKind::PunchHole, OpKind::Discard, OpKind::WriteZeroes] {
            let op = on_set(kind, "one", 4096.0, None);
            assert_eq!(refusal(op.clone(), true), None, "{kind:?}");
            assert!(refusal(op, false).unwrap().contains("is not to be destroyed"), "{kind:?}");
        }
    }

    #[test]
    fn a_device_has_neither_names_nor_attributes_nor_another_size() {
        for kind in [OpKind::Stat, OpKind::Fallocate, OpKind::TruncateAt, OpKind::Chmod, OpKind::Readdir, OpKind::Lock]
        {
            let text = refusal(on_set(kind, "one", 4096.0, None), true).unwrap();
            assert!(text.contains(&format!("a block device has no {}", kind.name())), "{text}");
        }
        let append = Op { access: Access::Append {}, ..on_set(OpKind::Write, "one", 4096.0, None) };
        assert!(refusal(append, true).unwrap().contains("keeps its size"));
    }

    #[test]
    fn a_file_is_not_discarded_and_a_device_is_by_loops_over_its_set() {
        let of = |target: &str, op: Op| {
            let plan = plans::plan(target.to_owned(), on_device(), Vec::new());
            let plan = Plan { targets: vec![Target { destroy_data: true, ..plan.targets[0].clone() }], ..plan };
            let keep = on_set(OpKind::Read, "keep", 4096.0, Some(0));
            let job = plans::job("load", vec![act(keep), act(op)], Stop::default());
            let program = compile(&job, &phase(Vec::new(), Vec::new()), &plan.file_sets).unwrap();
            check_job(&plan, &job, &program).err().map(|error| error.to_string())
        };
        for kind in [OpKind::Discard, OpKind::WriteZeroes, OpKind::PunchHole] {
            let (by_set, by_slot) = (on_set(kind, "one", 4096.0, None), on_slot(kind, "one", 4096.0));
            assert_eq!(of("block:/dev/x", by_set.clone()), None, "{kind:?}");
            assert!(of("block:/dev/x", by_slot.clone()).unwrap().contains("works on a set, in a loop"), "{kind:?}");
            for op in [by_set, by_slot] {
                let refusal = of("file:///here", op);
                assert_eq!(refusal.is_some(), kind == OpKind::Discard, "{kind:?}");
                assert!(refusal.is_none_or(|text| text.contains("punch_hole")));
            }
        }
    }

    #[test]
    fn ranges_are_whole_blocks_of_the_device_that_they_are_on() {
        let region = |from_bytes, length_bytes| Region::Range { from_bytes, length_bytes };
        let up = |region| Access::Sequential { region, wrap: true };
        let random = |align_bytes| Access::Random {
            region: Region::Whole {},
            distribution: Distribution::Uniform { min: 0.0, max: 1.0 },
            coverage: crate::plan::Coverage::WithRepeats,
            align_bytes,
        };
        let stride = |stride_bytes| Access::Stride { region: Region::Whole {}, stride_bytes, wrap: true };
        let fixed = |value| Distribution::Fixed { value };
        let rows = |rows: &[f64]| Distribution::Tabular { rows: rows.iter().map(|&size| [1.0, size, size]).collect() };
        let whole = || up(Region::Whole {});
        for (size, access, set_bytes, what) in [
            (fixed(8192.0), whole(), 65_536.0, None),
            (fixed(4096.0), up(region(4096, 8192)), 65_000.0, None),
            (rows(&[4096.0, 12_288.0]), random(0), 65_536.0, None),
            (fixed(512.0), whole(), 65_536.0, Some("size is 512 bytes")),
            (rows(&[4096.0, 6144.0]), random(0), 65_536.0, Some("size is 6144 bytes")),
            (fixed(4096.0), whole(), 65_000.0, Some("the size of its file set is 65000 bytes")),
            (fixed(4096.0), up(region(512, 8192)), 65_536.0, Some("from is 512 bytes")),
            (fixed(4096.0), up(region(4096, 8704)), 65_536.0, Some("length is 8704 bytes")),
            (fixed(4096.0), random(512), 65_536.0, Some("align is 512 bytes")),
            (fixed(4096.0), stride(4608), 65_536.0, Some("stride is 4608 bytes")),
            (Distribution::Uniform { min: 4096.0, max: 8192.0 }, whole(), 65_536.0, Some("its size is drawn")),
        ] {
            let set = FileSet { size: fixed(set_bytes), ..on_device() };
            let op = Op { size, access, ..on_set(OpKind::Discard, "one", 4096.0, None) };
            let job = plans::job("load", vec![act(op)], Stop::default());
            let mut plan = plan(set, true);
            plan.phases = vec![Phase { jobs: vec![job], ..phase(Vec::new(), Vec::new()) }];

            let refusal = check_ranges(&plan, |_| Some(4096)).err().map(|error| error.to_string());

            match what {
                Some(what) => assert!(refusal.as_ref().is_some_and(|text| text.contains(what)), "{what}: {refusal:?}"),
                None => assert_eq!(refusal, None),
            }
            assert!(check_ranges(&plan, |_| None).is_ok(), "on no device");
        }
    }

    #[test]
    fn a_set_on_a_device_is_the_device() {
        assert!(check_set(&plan(on_device(), false), &on_device()).is_ok());
        let anew = FileSet { reuse: Reuse::Never, ..on_device() };
        assert!(check_set(&plan(anew.clone(), true), &anew).is_ok());
        let unfit = [
            (anew, "would overwrite"),
            (FileSet { files: 2, ..on_device() }, "one file"),
            (FileSet { existing_share: 0.0, ..on_device() }, "one file"),
            (FileSet { layout: Layout::PerDirectory { files: 1 }, ..on_device() }, "one file"),
            (FileSet { size: Distribution::Exponential { mean: 1e6 }, ..on_device() }, "one size"),
            (FileSet { allocate: Allocate::Sparse, ..on_device() }, "no holes"),
        ];
        for (set, reason) in unfit {
            let text = check_set(&plan(set.clone(), false), &set).unwrap_err().to_string();
            assert!(text.contains(reason), "{text}");
        }
    }

    #[test]
    fn steps_that_need_a_file_system_are_refused() {
        let plan = plan(on_device(), true);
        let refused = |step: Step| check_steps(&plan, &phase(Vec::new(), vec![step])).is_err();

        assert!(refused(Step::Fill { target: "here".to_owned(), used_share: 0.5 }));
        assert!(refused(Step::Age { set: on_device().name, churn: 1.0 }));
        assert!(!refused(Step::Evict { set: on_device().name }));
    }

    #[test]
    fn only_a_device_whose_data_may_be_destroyed_is_discarded() {
        let discard = || phase(Vec::new(), vec![Step::Discard { set: on_device().name }]);
        let refusal = |plan: &Plan| check_steps(plan, &discard()).err().map(|error| error.to_string());
        let folder = plans::plan("file:///here".to_owned(), on_device(), Vec::new());

        assert_eq!(refusal(&plan(on_device(), true)), None);
        assert!(refusal(&plan(on_device(), false)).unwrap().contains("is not allowed"));
        assert!(refusal(&folder).unwrap().contains("only a block device"));
    }
}
