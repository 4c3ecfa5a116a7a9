//! The actions of an op loop that are no operations, made ready: waiting, posting, tokens, thinking, finishing.

use crate::draw::sizes::Sampler;
use crate::pace::coordination::Names;
use crate::plan::{Action, Body, Op, TokenUnit};

/// An action that is no operation.
#[derive(Debug)]
pub enum ActionNode {
    /// Take from a semaphore.
    Wait {
        /// Its number in the phase.
        semaphore: usize,
        /// How much.
        count: u32,
    },
    /// Give to a semaphore.
    Post {
        /// Its number in the phase.
        semaphore: usize,
        /// How much.
        count: u32,
    },
    /// Pay a bucket for what the worker did since it paid last.
    Token {
        /// Its number in the phase.
        bucket: usize,
        /// What one token is for.
        unit: TokenUnit,
        /// States of the operations that count.
        counted: Vec<usize>,
    },
    /// Pause.
    Think {
        /// Seconds.
        seconds: Sampler,
        /// Burn CPU instead of sleeping.
        burn: bool,
    },
    /// End the worker at a count.
    FinishOn {
        /// States of the operations that count.
        counted: Vec<usize>,
        /// Operations, if counted.
        ops: Option<u64>,
        /// Bytes, if counted.
        bytes: Option<u64>,
        /// Place of what all workers of the job count together, if they do.
        together: Option<usize>,
    },
}

/// Which operations an action counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'a> {
    /// All.
    All,
    /// Reads and writes.
    Data,
    /// Those of a name.
    Named(&'a str),
}

impl Which<'_> {
    /// Whether it counts an operation.
    pub fn has(&self, op: &Op) -> bool {
        match self {
            Self::All => true,
            Self::Data => op.op.rules().moves_data(),
            Self::Named(name) => op.name == *name,
        }
    }
}

/// Which operations an action counts, if it counts any.
pub fn counted_by(action: &Action) -> Option<Which<'_>> {
    match action {
        Action::Token { unit: TokenUnit::Event, .. } => None,
        Action::Token { operation: op, .. } | Action::FinishOn { op, .. } if !op.is_empty() => Some(Which::Named(op)),
        Action::Token { unit: TokenUnit::Op, .. } | Action::FinishOn { every_kind: true, .. } => Some(Which::All),
        Action::Token { unit: TokenUnit::DataOp | TokenUnit::Mebibyte, .. } | Action::FinishOn { .. } => {
            Some(Which::Data)
        }
        Action::Op { .. }
        | Action::Group { .. }
        | Action::Choice { .. }
        | Action::Repeat { .. }
        | Action::Every { .. }
        | Action::Wait { .. }
        | Action::Post { .. }
        | Action::Think { .. } => None,
    }
}

/// States of the operations that an action counts: they are numbered in the order in which they stand in the Plan.
fn counted(action: &Action, body: &Body) -> Result<Vec<usize>, String> {
    let Some(which) = counted_by(action) else { return Ok(Vec::new()) };
    let states: Vec<_> = body.ops().enumerate().filter(|(_, op)| which.has(op)).map(|(state, _)| state).collect();
    if !states.is_empty() {
        return Ok(states);
    }
    Err(match which {
        Which::Named(name) => format!("an action counts operation '{name}', which the job does not have"),
        Which::All | Which::Data => "an action counts reads and writes, and the job has none".to_owned(),
    })
}

/// Make an action of a loop ready; `finishes` counts what workers count together. A text says what is wrong with it.
pub fn compile(action: &Action, names: &Names, body: &Body, finishes: &mut usize) -> Result<ActionNode, String> {
    let counted = counted(action, body)?;
    Ok(match action {
        Action::Wait { semaphore, count, .. } => {
            ActionNode::Wait { semaphore: number(names, semaphore)?, count: amount("wait", semaphore, *count)? }
        }
        Action::Post { semaphore, count } => {
            ActionNode::Post { semaphore: number(names, semaphore)?, count: amount("post", semaphore, *count)? }
        }
        Action::Token { bucket, unit, .. } => {
            let bucket = names.bucket_of(bucket).ok_or_else(|| format!("there is no token bucket '{bucket}'"))?;
            ActionNode::Token { bucket, unit: *unit, counted }
        }
        Action::Think { seconds, burn } => {
            ActionNode::Think { seconds: Sampler::new(seconds).map_err(|error| error.to_string())?, burn: *burn }
        }
        Action::FinishOn { ops, bytes, together, .. } => {
            if ops.is_none() && bytes.is_none() {
                return Err("finish_on counts neither ops nor bytes; give one of them".to_owned());
            }
            let place = together.then_some(*finishes);
            *finishes += usize::from(*together);
            ActionNode::FinishOn { counted, ops: *ops, bytes: *bytes, together: place }
        }
        Action::Op { .. }
        | Action::Group { .. }
        | Action::Choice { .. }
        | Action::Repeat { .. }
        | Action::Every { .. } => {
            return Err("an operation or a list of actions is compiled elsewhere".to_owned());
        }
    })
}

fn number(names: &Names, semaphore: &str) -> Result<usize, String> {
    names.semaphore(semaphore).ok_or_else(|| format!("there is no semaphore '{semaphore}'"))
}

fn amount(verb: &str, semaphore: &str, count: u64) -> Result<u32, String> {
    u32::try_from(count)
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("{verb} '{semaphore}': count is {count}; it lies between 1 and {}", u32::MAX))
}
