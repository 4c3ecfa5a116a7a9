//! The actions of an op loop that are no operations, made ready: waiting, posting, tokens, thinking, finishing.

use crate::draw::sizes::Sampler;
use crate::pace::coordination::Names;
use crate::plan::{Action, TokenUnit};
use crate::program::op::{Node, OpNode};

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
        /// What one token stands for.
        unit: TokenUnit,
        /// Operations that count.
        counted: Counted,
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
        /// Operations that count.
        counted: Counted,
        /// Operations, if counted.
        ops: Option<u64>,
        /// Bytes, if counted.
        bytes: Option<u64>,
    },
}

/// Operations of a worker whose completions are counted together, by the index of their state.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counted {
    which: Which,
    /// Indices of their states, once all operations of the job are known.
    pub states: Vec<usize>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Which {
    #[default]
    None,
    All,
    Data,
    Named(String),
}

impl Which {
    fn has(&self, op: &OpNode) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Data => op.kind.rules().moves_data(),
            Self::Named(name) => op.name == *name,
        }
    }
}

/// Make an action ready. A text says what is wrong with it.
pub fn compile(action: &Action, names: &Names) -> Result<ActionNode, String> {
    let counted = |which| Counted { which, states: Vec::new() };
    Ok(match action {
        Action::Wait { semaphore, count } => {
            ActionNode::Wait { semaphore: number(names, semaphore)?, count: amount("wait", semaphore, *count)? }
        }
        Action::Post { semaphore, count } => {
            ActionNode::Post { semaphore: number(names, semaphore)?, count: amount("post", semaphore, *count)? }
        }
        Action::Token { bucket, unit, .. } => {
            let which = match unit {
                TokenUnit::Event => Which::None,
                TokenUnit::Op => Which::All,
                TokenUnit::DataOp | TokenUnit::Mebibyte => Which::Data,
            };
            let bucket = names.bucket_of(bucket).ok_or_else(|| format!("there is no token bucket '{bucket}'"))?;
            ActionNode::Token { bucket, unit: *unit, counted: counted(which) }
        }
        Action::Think { seconds, burn } => {
            ActionNode::Think { seconds: Sampler::new(seconds).map_err(|error| error.to_string())?, burn: *burn }
        }
        Action::FinishOn { op, ops, bytes } => {
            if ops.is_none() && bytes.is_none() {
                return Err("finish_on counts neither ops nor bytes; give one of them".to_owned());
            }
            let which = if op.is_empty() { Which::Data } else { Which::Named(op.clone()) };
            ActionNode::FinishOn { counted: counted(which), ops: *ops, bytes: *bytes }
        }
        Action::Op { .. } | Action::Group { .. } | Action::Choice { .. } | Action::Repeat { .. } => {
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

/// Once all operations are compiled: find the ones that are counted, and have them count.
///
/// # Errors
///
/// A text for a `finish_on` whose operation the job does not have.
pub fn resolve(nodes: &mut [Node]) -> Result<(), String> {
    let mut actions = Vec::new();
    let mut ops = Vec::new();
    each(nodes, &mut |node| match node {
        Node::Op(op) => ops.push(op),
        Node::Action(action) => actions.push(action),
        _ => {}
    });
    for action in actions {
        let (ActionNode::Token { counted, .. } | ActionNode::FinishOn { counted, .. }) = action else { continue };
        for op in ops.iter_mut().filter(|op| counted.which.has(op)) {
            op.is_counted = true;
            counted.states.push(op.state);
        }
        if counted.states.is_empty() && counted.which != Which::None {
            return Err(match &counted.which {
                Which::Named(name) => format!("finish_on waits for operation '{name}', which the job does not have"),
                _ => "an action counts reads and writes, and the job has none".to_owned(),
            });
        }
    }
    Ok(())
}

/// Every operation and action of a program.
fn each<'a>(nodes: &'a mut [Node], see: &mut impl FnMut(&'a mut Node)) {
    for node in nodes {
        match node {
            Node::Group { nodes, .. } | Node::Repeat { nodes, .. } => each(nodes, see),
            Node::Choice { branches, .. } => branches.iter_mut().for_each(|nodes| each(nodes, see)),
            Node::Op(_) | Node::Action(_) => see(node),
        }
    }
}
