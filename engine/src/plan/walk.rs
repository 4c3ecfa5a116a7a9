//! The one walk over what a worker does.

use crate::plan::body::{Action, Body};
use crate::plan::op::Op;

impl Body {
    /// Every action of a loop, each before those inside it; a script has none.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        match self {
            Self::Loop { actions } => Actions { open: vec![actions.iter()] },
            Self::Script { .. } => Actions { open: Vec::new() },
        }
    }

    /// Every operation, in the order in which they stand in the Plan.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        let (templates, groups) = match self {
            Self::Loop { .. } => (&[][..], &[][..]),
            Self::Script { ops, groups, .. } => (&ops[..], &groups[..]),
        };
        let in_loop = self.actions().filter_map(|action| if let Action::Op { op } = action { Some(op) } else { None });
        in_loop.chain(templates).chain(groups.iter().flat_map(|group| &group.ops))
    }
}

struct Actions<'a> {
    /// Lists that are not through, the innermost last.
    open: Vec<std::slice::Iter<'a, Action>>,
}

impl<'a> Iterator for Actions<'a> {
    type Item = &'a Action;

    fn next(&mut self) -> Option<&'a Action> {
        loop {
            let Some(action) = self.open.last_mut()?.next() else {
                self.open.pop();
                continue;
            };
            match action {
                Action::Group { actions, .. } | Action::Repeat { actions, .. } | Action::Every { actions, .. } => {
                    self.open.push(actions.iter());
                }
                Action::Choice { branches } => {
                    self.open.extend(branches.iter().rev().map(|branch| branch.actions.iter()));
                }
                Action::Op { .. }
                | Action::Wait { .. }
                | Action::Post { .. }
                | Action::Token { .. }
                | Action::Think { .. }
                | Action::FinishOn { .. } => {}
            }
            return Some(action);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::body::Branch;

    fn post(semaphore: &str) -> Action {
        Action::Post { semaphore: semaphore.to_owned(), count: 1 }
    }

    #[test]
    fn the_walk_goes_through_lists_within_lists_in_their_order() {
        let branch = |names: &[&str]| Branch { weight: 1.0, actions: names.iter().map(|name| post(name)).collect() };
        let choice = Action::Choice { branches: vec![branch(&["b", "c"]), branch(&[]), branch(&["d"])] };
        let group = Action::Group { name: "g".to_owned(), actions: vec![choice, post("e")], laps: false };
        let every = Action::Every { times: 3, actions: vec![post("f")] };
        let body = Body::Loop { actions: vec![post("a"), Action::Repeat { times: 2, actions: vec![group] }, every] };

        let posts = body.actions().filter_map(|action| match action {
            Action::Post { semaphore, .. } => Some(semaphore.as_str()),
            _ => None,
        });

        assert_eq!(posts.collect::<String>(), "abcdef");
        assert_eq!(body.actions().count(), 6 + 4);
    }
}
