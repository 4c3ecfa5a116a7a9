//! Does the engine understand what Assay writes, and the other way round?
//!
//! `assay-engine --check-plan` and `--check-events` read a document and write it again from the types that it was read
//! into. What comes out must be what went in: whatever the twins in Rust and Python disagree about shows as a difference
//! or as a refusal. `--check-kinds` gives of each kind of operation what Python keeps sets of.

use crate::error::{EngineError, Result};
use crate::events::{Control, Event};
use crate::plan::{OpKind, Plan, limits};
use crate::program::op_rules::OpRules;
use serde::{Serialize, de::DeserializeOwned};

/// Read a Plan, hold its numbers against their limits, and write it again.
pub fn check_plan(input: &str) -> Result<String> {
    let unread = |error| EngineError::Plan(format!("plan: {error}"));
    let plan: Plan = serde_json::from_str(input).map_err(unread)?;
    limits::check(&plan)?;
    serde_json::to_string(&plan).map_err(unread)
}

/// Read lines of the event stream and control lines, and write each again.
pub fn check_events(input: &str) -> Result<String> {
    let mut output = String::with_capacity(input.len());
    for (index, line) in input.lines().enumerate() {
        let control = serde_json::from_str::<Kind>(line).is_ok_and(|kind| kind.control.is_some());
        let written = if control { again::<Control>(line) } else { again::<Event>(line) };
        output += &written.map_err(|error| EngineError::Plan(format!("line {}: {error}", index + 1)))?;
        output.push('\n');
    }
    Ok(output)
}

/// Read kinds of operations, one a line, and write beside each what becomes of the set's names and of stamps, whether its
/// file grows, what it asks of the backend, and whether it is of directories.
pub fn check_kinds(input: &str) -> Result<String> {
    let reported = |line: &str| {
        let kind: OpKind = serde_json::from_value(line.into()).map_err(|error| EngineError::Plan(error.to_string()))?;
        let OpRules { names, stamps, grows, request, is_of_directories, .. } = kind.rules();
        let request = request.map_or_else(|| "None".to_owned(), |request| format!("{request:?}"));
        Ok(format!("{line} {names:?} {stamps:?} {grows:?} {request} {is_of_directories}\n"))
    };
    input.lines().map(reported).collect()
}

/// Tells control lines from events.
#[derive(serde::Deserialize)]
struct Kind {
    control: Option<String>,
}

fn again<T: Serialize + DeserializeOwned>(text: &str) -> serde_json::Result<String> {
    serde_json::to_string(&serde_json::from_str::<T>(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_and_a_control_line_come_back_as_they_went_in() {
        let lines = "{\"event\":\"ready\",\"t_ns\":18446744073709551615,\"phase_index\":0,\"workers\":4}\n\
                     {\"control\":\"stop\"}\n";

        assert_eq!(check_events(lines).unwrap(), lines);
    }

    #[test]
    fn a_line_of_neither_kind_is_refused_with_its_number() {
        let error = check_events("{\"control\":\"stop\"}\n{\"event\":\"rest\"}\n").unwrap_err();

        assert!(error.to_string().starts_with("line 2: unknown variant `rest`"), "{error}");
    }

    #[test]
    fn a_field_that_no_plan_has_is_refused() {
        let error = check_plan("{\"schema\":\"assay.plan/1\",\"iodepth\":1}").unwrap_err();

        assert!(error.to_string().contains("unknown field `iodepth`"), "{error}");
    }
}
