//! What cannot be done on a block device, refused before it is opened.

use crate::backend::uri::Scheme;
use crate::error::{EngineError, Result};
use crate::plan::{Access, Allocate, Distribution, FileSet, Job, Layout, OpKind, Phase, Plan, Reuse, Step, Target};
use crate::program::op::{FileSource, Program};

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
    let Some(target) = program.sets.iter().find_map(|&set| device(set)) else { return Ok(()) };
    let refuse = |text: String| Err(EngineError::Plan(text));
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
            continue;
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
            | OpKind::Advise
            | OpKind::Fstat
    )
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
    use crate::exact::plans::{act, on_set, phase};
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
        for kind in [OpKind::Write, OpKind::PunchHole] {
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
