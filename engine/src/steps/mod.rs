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

/// How long waiting for write-back is deaf.
const SETTLE_PIECE_S: f64 = 0.25;

/// Outcome of a step: whether it did what was asked, and how or why not.
type Done = (bool, String);

/// Refuse steps that name what is not there, or that this engine does not carry out yet.
pub fn check(phase: &Phase, plan: &Plan) -> Result<()> {
    let mut steps = phase.before.iter().chain(&phase.after);
    let checked = steps.try_for_each(|step| check_one(step, plan));
    checked.map_err(|text| EngineError::Plan(format!("phase '{}': {text}", phase.name)))
}

/// The text says what is wrong with a step.
fn check_one(step: &Step, plan: &Plan) -> std::result::Result<(), String> {
    let not_yet = |what: &str| Err(format!("this engine does not carry out the step {what} yet"));
    let set = match word_and_set(step).1 {
        Some(name) => {
            let found = plan.file_sets.iter().find(|set| set.name == name);
            Some(found.ok_or_else(|| format!("there is no file set '{name}'"))?)
        }
        None => None,
    };
    match step {
        Step::DropCaches { place: Place::Server } => not_yet("drop_caches of a server"),
        Step::Remount { .. } => not_yet("remount"),
        Step::Command { .. } => not_yet("command"),
        Step::Fill { target, .. } if !plan.targets.iter().any(|candidate| candidate.name == *target) => {
            Err(format!("there is no target '{target}'"))
        }
        Step::Fill { used_share, .. } if !(0.0..=1.0).contains(used_share) => {
            Err(format!("used_share is {used_share}; it lies between 0 and 1"))
        }
        Step::Age { churn, .. } if !(churn.is_finite() && *churn > 0.0) => {
            Err(format!("churn is {churn}; it must be above 0"))
        }
        Step::Verify { set: name } if set.is_some_and(|set| !set.content.stamped) => {
            Err(format!("file set '{name}' cannot be verified; give it content = {{ stamped = true }}"))
        }
        Step::DropCaches { place: Place::Client } | Step::Sync {} => Ok(()),
        Step::Prepare { .. } | Step::Remove { .. } | Step::Evict { .. } | Step::Warm { .. } => Ok(()),
        Step::Fill { .. } | Step::Age { .. } | Step::Verify { .. } | Step::Ceilings { .. } => Ok(()),
        Step::Discard { .. } => Ok(()),
        Step::Settle { .. } | Step::Sleep { .. } => Ok(()),
    }
}

/// The Plan's word for a step, and the name of the file set that it is about.
fn word_and_set(step: &Step) -> (&'static str, Option<&str>) {
    match step {
        Step::Prepare { set } => ("prepare", Some(set)),
        Step::Evict { set } => ("evict", Some(set)),
        Step::DropCaches { .. } => ("drop_caches", None),
        Step::Remount { .. } => ("remount", None),
        Step::Warm { set, .. } => ("warm", Some(set)),
        Step::Verify { set } => ("verify", Some(set)),
        Step::Sync {} => ("sync", None),
        Step::Settle { .. } => ("settle", None),
        Step::Fill { .. } => ("fill", None),
        Step::Age { set, .. } => ("age", Some(set)),
        Step::Discard { set } => ("discard", Some(set)),
        Step::Remove { set } => ("remove", Some(set)),
        Step::Sleep { .. } => ("sleep", None),
        Step::Command { .. } => ("command", None),
        Step::Ceilings { set, .. } => ("ceilings", Some(set)),
    }
}

/// Carry steps out in order. A step that the privileges do not allow is reported and skipped; whether the phase's wish
/// was met is seen in its residency.
pub fn carry_out(run: &mut DataSets, phase_index: u32, steps: &[Step]) -> Result<()> {
    for step in steps {
        if run.stop.load(Relaxed) {
            return Err(EngineError::Stopped);
        }
        let begun = Instant::now();
        let (achieved, detail) = carry_out_one(run, phase_index, step)?;
        let (word, set) = word_and_set(step);
        run.emitter.emit(&Event::StepDone {
            t_ns: run.emitter.now_ns(),
            phase_index,
            step: word.to_owned(),
            subject: set.map(str::to_owned),
            achieved,
            detail,
            seconds: begun.elapsed().as_secs_f64(),
        });
    }
    Ok(())
}

fn carry_out_one(run: &mut DataSets, phase_index: u32, step: &Step) -> Result<Done> {
    let index_of = |name: &str| {
        let found = run.plan.file_sets.iter().position(|set| set.name == *name);
        found.expect("steps are checked before the run")
    };
    match step {
        Step::Prepare { set } => run.prepare_set(index_of(set)).map(|()| (true, String::new())),
        Step::Remove { set } => run.remove_set(index_of(set), Some(run.stop)).map(|detail| (true, detail)),
        Step::Evict { set } => cache::evict(&run.sets[index_of(set)], run.stop).map(|detail| (true, detail)),
        Step::Warm { set, share } => {
            let report = run.emitter.reporter(format!("reading file set '{set}' into the cache"));
            cache::warm(&run.sets[index_of(set)], *share, run.stop, &report).map(|detail| (true, detail))
        }
        Step::Age { set, churn } => age_set(run, index_of(set), *churn),
        Step::Discard { set } => run.discard(index_of(set)),
        Step::Fill { target, used_share } => run.fill(target, *used_share).map(|detail| (true, detail)),
        Step::Verify { set } => check_blocks(run, phase_index, index_of(set)),
        Step::Ceilings { set, seconds } => measure_ceilings(run, index_of(set), *seconds),
        Step::DropCaches { .. } => Ok(match cache::drop_caches() {
            Ok(()) => (true, "page cache, dentries and inodes dropped".to_owned()),
            Err(error) => (false, format!("/proc/sys/vm/drop_caches: {error}; root can drop the caches")),
        }),
        Step::Sync {} => {
            for place in &run.places {
                place.sync()?;
            }
            Ok((true, String::new()))
        }
        Step::Settle { at_most_s } => settle(run, *at_most_s),
        Step::Sleep { seconds } => sleep(run, *seconds),
        Step::Remount { .. } | Step::Command { .. } => unreachable!("steps are checked before the run"),
    }
}

fn age_set(run: &DataSets, set: usize, churn: f64) -> Result<Done> {
    let name = &run.plan.file_sets[set].name;
    if run.sets[set].generations().is_some_and(|table| !table.is_untouched()) {
        return Err(EngineError::Plan(format!(
            "age '{name}': the set is stamped and was written to since it was laid out; age it before that"
        )));
    }
    let report = run.emitter.reporter(format!("ageing file set '{name}'"));
    age::age(&run.sets[set], churn, &report, run.stop).map(|detail| (true, detail))
}

/// That many seconds from now, at most a century, which is longer than any run.
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
        let piece_s = until.saturating_duration_since(Instant::now()).as_secs_f64().min(SETTLE_PIECE_S);
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
    let open = |flags| state.open_file(first, flags);
    let (path, bytes) = (state.path_of(first), state.size_of(first));
    let ceilings = ceilings::measure(&path, &open, bytes, seconds, run.stop, &mut fill_block)?;
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
    // What memory holds shows nothing of the storage: out with it, as far as it goes.
    if let Err(EngineError::Stopped) = cache::evict(state, run.stop) {
        return Err(EngineError::Stopped);
    }
    let resident_share = cache::residency_of(state).ok().map(|seen| match seen.pages {
        0 => 0.0,
        pages => seen.resident_pages as f64 / pages as f64,
    });
    let report = run.emitter.reporter(format!("verifying file set '{name}'"));
    let verified = verify::verify(state, &generations, &report, run.stop)?;
    let corruption = corruption::report(run.emitter, phase_index, "", "verify", &verified.bad);
    let bad: u64 = corruption.iter().map(|kind| kind.blocks).sum();
    run.emitter.emit(&Event::Verified {
        t_ns: run.emitter.now_ns(),
        phase_index,
        set: name.clone(),
        blocks: verified.blocks,
        bytes: verified.bytes,
        generations_known: generations.is_known(),
        resident_share,
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
