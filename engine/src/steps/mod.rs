//! What is done outside the timed part: file sets laid out and removed, caches brought to a state, ceilings measured.

pub mod age;
pub mod cache;
pub mod ceilings;
pub mod verify;

use crate::content::fill::ContentFill;
use crate::control;
use crate::corruption;
use crate::data_sets::DataSets;
use crate::error::{EngineError, Result};
use crate::events::Event;
use crate::plan::{Phase, Place, Plan, Step};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Outcome of a step: whether it did what was asked, and how or why not.
type Done = (bool, String);

/// Refuse steps that name what is not there, or that this engine does not carry out yet.
pub fn check(phase: &Phase, plan: &Plan) -> Result<()> {
    for step in phase.before.iter().chain(&phase.after) {
        let refused = match step {
            Step::DropCaches { place: Place::Server } => Some("drop_caches of a server"),
            Step::Remount { .. } => Some("remount"),
            Step::Command { .. } => Some("command"),
            _ => None,
        };
        if let Some(what) = refused {
            return Err(EngineError::Plan(format!(
                "phase '{}': this engine does not carry out the step {what} yet",
                phase.name
            )));
        }
        check_values(phase, step, plan)?;
        if let Some(set) = set_of(step) {
            let Some(found) = plan.file_sets.iter().find(|candidate| candidate.name == set) else {
                return Err(EngineError::Plan(format!("phase '{}': there is no file set '{set}'", phase.name)));
            };
            if matches!(step, Step::Verify { .. }) && !found.content.stamped {
                return Err(EngineError::Plan(format!(
                    "phase '{}': file set '{set}' cannot be verified; give it content = {{ stamped = true }}",
                    phase.name
                )));
            }
        }
    }
    Ok(())
}

/// Refuse numbers that mean nothing, and targets that are not there.
fn check_values(phase: &Phase, step: &Step, plan: &Plan) -> Result<()> {
    let refuse = |text: String| Err(EngineError::Plan(format!("phase '{}': {text}", phase.name)));
    match step {
        Step::Fill { target, .. } if !plan.targets.iter().any(|candidate| candidate.name == *target) => {
            refuse(format!("there is no target '{target}'"))
        }
        Step::Fill { used_share, .. } if !(0.0..=1.0).contains(used_share) => {
            refuse(format!("used_share is {used_share}; it lies between 0 and 1"))
        }
        Step::Age { churn, .. } if !(churn.is_finite() && *churn > 0.0) => {
            refuse(format!("churn is {churn}; it must be above 0"))
        }
        _ => Ok(()),
    }
}

/// Name of the file set that a step is about.
fn set_of(step: &Step) -> Option<&str> {
    match step {
        Step::Prepare { set }
        | Step::Evict { set }
        | Step::Warm { set, .. }
        | Step::Age { set, .. }
        | Step::Remove { set }
        | Step::Verify { set }
        | Step::Ceilings { set, .. } => Some(set),
        _ => None,
    }
}

/// Carry steps out in order. A step that the privileges do not allow is said and passed over; whether the phase's wish
/// was met is seen in its residency.
pub fn carry_out(run: &mut DataSets, phase_index: u32, steps: &[Step]) -> Result<()> {
    for step in steps {
        if run.stop.load(Relaxed) {
            return Err(EngineError::Stopped);
        }
        let begun = Instant::now();
        let (achieved, detail) = carry_out_one(run, phase_index, step)?;
        run.emitter.emit(&Event::StepDone {
            t_ns: run.emitter.now_ns(),
            phase_index,
            step: name_of(step).to_owned(),
            subject: set_of(step).map(str::to_owned),
            achieved,
            detail,
            seconds: begun.elapsed().as_secs_f64(),
        });
    }
    Ok(())
}

fn name_of(step: &Step) -> &'static str {
    match step {
        Step::Prepare { .. } => "prepare",
        Step::Evict { .. } => "evict",
        Step::DropCaches { .. } => "drop_caches",
        Step::Remount { .. } => "remount",
        Step::Warm { .. } => "warm",
        Step::Verify { .. } => "verify",
        Step::Sync {} => "sync",
        Step::Settle { .. } => "settle",
        Step::Fill { .. } => "fill",
        Step::Age { .. } => "age",
        Step::Remove { .. } => "remove",
        Step::Sleep { .. } => "sleep",
        Step::Command { .. } => "command",
        Step::Ceilings { .. } => "ceilings",
    }
}

fn carry_out_one(run: &mut DataSets, phase_index: u32, step: &Step) -> Result<Done> {
    let set = set_of(step).and_then(|name| run.plan.file_sets.iter().position(|set| set.name == name));
    match (step, set) {
        (Step::Prepare { .. }, Some(set)) => run.prepare_set(set).map(|()| (true, String::new())),
        (Step::Remove { .. }, Some(set)) => run.remove_set(set, Some(run.stop)).map(|detail| (true, detail)),
        (Step::Evict { .. }, Some(set)) => cache::evict(&run.sets[set], run.stop).map(|detail| (true, detail)),
        (Step::Warm { share, .. }, Some(set)) => {
            let activity = format!("reading file set '{}' into the cache", run.plan.file_sets[set].name);
            let report = |done: u64, total: u64, unit: &str| run.emitter.progress(&activity, done, total, unit);
            cache::warm(&run.sets[set], *share, run.stop, &report).map(|detail| (true, detail))
        }
        (Step::Age { churn, .. }, Some(set)) => age_set(run, set, *churn),
        (Step::Fill { target, used_share }, _) => run.fill(target, *used_share).map(|detail| (true, detail)),
        (Step::Verify { .. }, Some(set)) => check_blocks(run, phase_index, set),
        (Step::Ceilings { seconds, .. }, Some(set)) => measure_ceilings(run, set, *seconds),
        (Step::DropCaches { .. }, _) => Ok(match cache::drop_caches() {
            Ok(()) => (true, "page cache, dentries and inodes dropped".to_owned()),
            Err(error) => (false, format!("/proc/sys/vm/drop_caches: {error}; root can drop the caches")),
        }),
        (Step::Sync {}, _) => {
            for folder in &run.folders {
                cache::sync_target(folder)?;
            }
            Ok((true, String::new()))
        }
        (Step::Settle { at_most_s }, _) => settle(run, *at_most_s),
        (Step::Sleep { seconds }, _) => sleep(run, *seconds),
        _ => unreachable!("steps are checked before the run"),
    }
}

fn age_set(run: &DataSets, set: usize, churn: f64) -> Result<Done> {
    let name = &run.plan.file_sets[set].name;
    if run.sets[set].generations().is_some_and(|table| !table.is_untouched()) {
        return Err(EngineError::Plan(format!(
            "age '{name}': the set is stamped and was written to since it was laid out; age it before that"
        )));
    }
    let activity = format!("ageing file set '{name}'");
    let report = |done: u64, total: u64, unit: &str| run.emitter.progress(&activity, done, total, unit);
    age::age(&run.sets[set], churn, &report, run.stop).map(|detail| (true, detail))
}

/// That many seconds from now; what lies beyond any run is as far as a clock can say.
fn in_seconds(seconds: f64) -> Instant {
    const CENTURY_S: f64 = 3.2e9;
    Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, CENTURY_S))
}

/// Wait for write-back in short pieces, so that a stop is heard.
fn settle(run: &DataSets, at_most_s: f64) -> Result<Done> {
    let until = in_seconds(at_most_s);
    loop {
        if run.stop.load(Relaxed) {
            return Err(EngineError::Stopped);
        }
        let piece_s = until.saturating_duration_since(Instant::now()).as_secs_f64().min(1.0);
        let settled = cache::settle(piece_s).map_err(|error| EngineError::io("read", "/proc/vmstat", error))?;
        if settled.reached || Instant::now() >= until {
            return Ok((settled.reached, settled.detail));
        }
    }
}

fn sleep(run: &DataSets, seconds: f64) -> Result<Done> {
    let until = in_seconds(seconds);
    control::sleep_until(until, run.stop).then(|| (true, String::new())).ok_or(EngineError::Stopped)
}

/// Measure what this client could ever show, with the set's first file for the cached reads.
fn measure_ceilings(run: &DataSets, set: usize, seconds: f64) -> Result<Done> {
    let state = &run.sets[set];
    let first = state.existing_indices().next().unwrap_or(0);
    let mut fill = ContentFill::new(run.plan.seed, &run.plan.file_sets[set].content, 0)?;
    let mut generation = 0;
    let mut fill_block = |block: &mut [u8]| {
        generation += 1;
        fill.fill(block, 0, 0, generation);
    };
    let ceilings = ceilings::measure(&state.path_of(first), state.size_of(first), seconds, run.stop, &mut fill_block)?;
    run.emitter.emit(&Event::Ceilings { t_ns: run.emitter.now_ns(), ceilings });
    Ok((true, String::new()))
}

/// Compare every block of a set with what was written.
fn check_blocks(run: &DataSets, phase_index: u32, set: usize) -> Result<Done> {
    let name = &run.plan.file_sets[set].name;
    let state = &run.sets[set];
    let Some(generations) = state.generations() else {
        return Err(EngineError::Plan(format!("file set '{name}' is not there to be verified; prepare it first")));
    };
    let activity = format!("verifying file set '{name}'");
    let report = |done: u64, total: u64, unit: &str| run.emitter.progress(&activity, done, total, unit);
    let verified = verify::verify(state, &generations, &report, run.stop)?;
    let corruption = corruption::tell(run.emitter, phase_index, "", "verify", &verified.bad);
    let bad: u64 = corruption.iter().map(|kind| kind.blocks).sum();
    run.emitter.emit(&Event::Verified {
        t_ns: run.emitter.now_ns(),
        phase_index,
        set: name.clone(),
        blocks: verified.blocks,
        bytes: verified.bytes,
        generations_known: generations.is_known(),
        corruption,
    });
    Ok((true, format!("{bad} of {} blocks are not what was written", verified.blocks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_beyond_what_a_clock_can_say_is_a_long_one() {
        for seconds in [2e10, 1e19, 1e300] {
            assert!(in_seconds(seconds) > Instant::now() + Duration::from_secs(1 << 31), "{seconds}");
        }
        assert!(in_seconds(-1.0) <= Instant::now());
    }
}
