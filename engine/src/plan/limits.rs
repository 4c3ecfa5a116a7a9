//! How large a number of a Plan may be.
//!
//! The table is Python's (`src/assay/plan/limits.py` explains each bound, and writes the file): a Plan may come
//! by itself, so it is held against the same one here. A number's name defines what it means wherever it is; what a
//! distribution draws has the row of the key that the distribution is under.

use crate::error::{EngineError, Result};
use crate::plan::Plan;
use serde::Deserialize;
use serde_json::{Number, Value};
use std::collections::HashMap;

const TABLE: &str = include_str!("limits.json");
/// Numbers of a distribution that are of the kind of what is drawn.
const DRAWN: [&str; 7] = ["value", "min", "max", "mean", "deviation", "median", "rows"];
/// Where a Plan comes from is kept and shown, and nothing is done with it.
const UNBOUNDED: [&str; 2] = ["origin", "schema"];
/// Letters of a name that a message shows.
const SHOWN_LETTERS: usize = 40;

#[derive(Deserialize)]
struct Limits {
    /// By name: least and most.
    numbers: HashMap<String, (Number, Number)>,
    /// By name: most entries.
    lists: HashMap<String, usize>,
    /// Actions inside actions.
    nesting: usize,
    text_bytes: usize,
    name_bytes: usize,
}

/// Where the walk is.
#[derive(Clone, Copy)]
struct At<'a> {
    /// Name of the field, or of the list, that the value is in.
    key: &'a str,
    /// Key that the object around it is under.
    holder: &'a str,
    /// Actions around it.
    depth: usize,
}

/// Hold a Plan against the table.
///
/// # Errors
///
/// A Plan error with the place of the first number, list or text that is beyond its bounds.
pub fn check(plan: &Plan) -> Result<()> {
    let limits: Limits = serde_json::from_str(TABLE).expect("the table is a part of the engine");
    let document = serde_json::to_value(plan).map_err(|error| EngineError::Plan(format!("plan: {error}")))?;
    let mut place = Vec::new();
    limits.check(At { key: "", holder: "", depth: 0 }, &document, &mut place).map_err(|why| {
        place.push(why);
        let (why, place) = place.split_last().expect("it has just got one");
        EngineError::Plan(if place.is_empty() { why.clone() } else { format!("{}: {why}", place.join(", ")) })
    })
}

impl Limits {
    /// The text says what is wrong; `place` has the words that lead to it.
    fn check(&self, at: At, value: &Value, place: &mut Vec<String>) -> std::result::Result<(), String> {
        match value {
            Value::Number(number) => self.check_number(at, number),
            Value::String(text) => {
                let most = if matches!(at.key, "name" | "title") { self.name_bytes } else { self.text_bytes };
                within(text.len(), most, || format!("{} has {} bytes", at.key, text.len()))
            }
            Value::Array(items) => self.check_list(at, items, place),
            Value::Object(fields) => {
                if let (Some(word), Some(Value::String(name))) = (word_of(at.key), fields.get("name")) {
                    place.push(format!("{word} '{}'", name.chars().take(SHOWN_LETTERS).collect::<String>()));
                }
                for (key, field) in fields.iter().filter(|(key, _)| !UNBOUNDED.contains(&key.as_str())) {
                    let depth = at.depth + usize::from(key == "actions");
                    self.check(At { key, holder: at.key, depth }, field, place)?;
                }
                if word_of(at.key).is_some() && fields.get("name").is_some() {
                    place.pop();
                }
                Ok(())
            }
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn check_list(&self, at: At, items: &[Value], place: &mut Vec<String>) -> std::result::Result<(), String> {
        if let Some(&most) = self.lists.get(at.key) {
            within(items.len(), most, || format!("{} has {} entries", at.key, items.len()))?;
        }
        within(at.depth, self.nesting, || format!("{} are nested {} deep", at.key, at.depth))?;
        for (position, item) in items.iter().enumerate() {
            let is_weight = at.key == "rows" && position == 0 && item.is_number();
            self.check(if is_weight { At { key: "weight", ..at } } else { at }, item, place)?;
        }
        Ok(())
    }

    fn check_number(&self, at: At, number: &Number) -> std::result::Result<(), String> {
        let is_drawn = DRAWN.contains(&at.key) && self.numbers.contains_key(at.holder);
        let name = if is_drawn { format!("{}.{}", at.holder, at.key) } else { at.key.to_owned() };
        let row = self.numbers.get(if is_drawn { at.holder } else { at.key });
        let (least, most) = row.ok_or_else(|| format!("{name} is a number without limits: a fault of the engine"))?;
        if is_at_most(least, number) && is_at_most(number, most) {
            return Ok(());
        }
        Err(format!("{name} is {number}; it lies between {least} and {most}"))
    }
}

fn within(size: usize, most: usize, what: impl Fn() -> String) -> std::result::Result<(), String> {
    if size <= most { Ok(()) } else { Err(format!("{}; {most} is the most", what())) }
}

/// Exact for whole numbers, which a float of the same size would round.
fn is_at_most(one: &Number, other: &Number) -> bool {
    match (one.as_u64(), other.as_u64()) {
        (Some(one), Some(other)) => one <= other,
        _ => one.as_f64() <= other.as_f64(),
    }
}

fn word_of(key: &str) -> Option<&'static str> {
    match key {
        "phases" => Some("phase"),
        "jobs" => Some("job"),
        "file_sets" => Some("file set"),
        "op" | "ops" => Some("operation"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        serde_json::from_str(TABLE).unwrap()
    }

    fn refused(json: &str) -> String {
        let mut place = Vec::new();
        let at = At { key: "", holder: "", depth: 0 };
        match limits().check(at, &serde_json::from_str(json).unwrap(), &mut place) {
            Ok(()) => String::new(),
            Err(why) => format!("{}: {why}", place.join(", ")),
        }
    }

    #[test]
    fn whole_numbers_are_compared_exactly() {
        let number = |text: &str| serde_json::from_str::<Number>(text).unwrap();

        assert!(is_at_most(&number("4611686018427387904"), &number("4611686018427387904")));
        assert!(!is_at_most(&number("4611686018427387905"), &number("4611686018427387904")));
        assert!(!is_at_most(&number("0"), &number("-1")));
        assert!(!is_at_most(&number("4.7e18"), &number("4611686018427387904")));
    }

    #[test]
    fn what_is_drawn_has_the_bounds_of_its_place() {
        assert_eq!(refused(r#"{"size":{"kind":"fixed","value":5e18}}"#).find("size.value is 5e+18"), Some(2));
        assert_eq!(refused(r#"{"seconds":{"kind":"uniform","min":0,"max":4e7}}"#).find("seconds.max is"), Some(2));
        assert_eq!(refused(r#"{"size":{"kind":"tabular","rows":[[5e18,0,1]]}}"#).find("weight is"), Some(2));
        assert_eq!(refused(r#"{"size":{"kind":"tabular","rows":[[1,0,4611686018427387904]]}}"#), "");
    }

    #[test]
    fn the_place_names_phase_and_job() {
        let json = r#"{"phases":[{"name":"a","jobs":[]},{"name":"p","jobs":[{"name":"j","queue_depth":4294967295}]}]}"#;

        assert_eq!(refused(json), "phase 'p', job 'j': queue_depth is 4294967295; it lies between 1 and 32768");
    }
}
