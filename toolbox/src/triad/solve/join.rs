//! The index join of a query's patterns.

use super::{Branch, OPEN, Row, Solver, Unsolved, get};
use crate::exec::{ExcludeWhen, Relation};
use crate::triad::fill::Pattern;
use kg::term::NodeId;

impl<'q> Solver<'_, '_, 'q> {
    pub(super) fn join(&mut self, patterns: &'q [Pattern]) -> Result<Branch<'q>, Unsolved> {
        self.in_time()?;
        let mut branch = Branch {
            patterns,
            vars: Vec::new(),
            rows: vec![Row::new()],
            passed: Vec::new(),
        };
        let exclude = &self.session.options().exclude;
        let mut left: Vec<&Pattern> = patterns.iter().collect();
        while !left.is_empty() {
            let cost = |pattern: &&Pattern| {
                let open = pattern
                    .vars()
                    .filter(|var| !branch.vars.contains(var))
                    .count();
                match pattern {
                    Pattern::Walk {
                        relation: Relation::Plain(id),
                        ..
                    } if open == 2 => (3, self.session.kg().uses(*id)),
                    Pattern::Class { .. } if open == 1 => (2, 0),
                    Pattern::Same { .. } => (0, 0),
                    _ => (open, 0),
                }
            };
            let next = (0..left.len())
                .min_by_key(|&i| (cost(&left[i]), i))
                .unwrap_or(0);
            let pattern = left.remove(next);
            self.extend(&mut branch, pattern)?;
            if exclude.when == ExcludeWhen::EveryStep {
                branch
                    .rows
                    .retain(|row| !row.iter().any(|node| exclude.nodes.contains(node)));
            }
        }
        self.filter(&mut branch);
        Ok(branch)
    }

    /// Joins the rows with another pattern.
    fn extend(&mut self, branch: &mut Branch<'q>, pattern: &'q Pattern) -> Result<(), Unsolved> {
        let rows = std::mem::take(&mut branch.rows);
        let known = branch.vars.clone();
        let new: Vec<&'q str> = {
            let mut new: Vec<&'q str> = Vec::new();
            for name in pattern.vars() {
                if !known.contains(&name) && !new.contains(&name) {
                    new.push(name);
                }
            }
            new
        };
        branch.vars.extend(&new);
        for row in rows {
            self.tick(branch.rows.len())?;
            let add = |nodes: &[NodeId], to: &mut Vec<Row>| {
                let mut longer = row.clone();
                longer.extend_from_slice(nodes);
                to.push(longer);
            };
            match pattern {
                Pattern::Class { member, class } => {
                    let instances = self.session.kg().instances(*class);
                    match get(member, &known, &row) {
                        Some(node) if instances.binary_search(&node).is_ok() => {
                            add(&[], &mut branch.rows);
                        }
                        Some(_) => {}
                        None => instances
                            .iter()
                            .for_each(|&node| add(&[node], &mut branch.rows)),
                    }
                }
                Pattern::Same { var, node } => match known.iter().position(|name| name == var) {
                    Some(column) if row[column] == *node => add(&[], &mut branch.rows),
                    Some(_) => {}
                    None => add(&[*node], &mut branch.rows),
                },
                Pattern::Walk {
                    head,
                    relation,
                    tail,
                } => match (get(head, &known, &row), get(tail, &known, &row)) {
                    (Some(head), Some(tail)) => {
                        if self
                            .step(head, *relation, true)
                            .binary_search(&tail)
                            .is_ok()
                        {
                            add(&[], &mut branch.rows);
                        }
                    }
                    (Some(head), None) => {
                        let tails = self.step(head, *relation, true);
                        match relation {
                            Relation::Interval(_) if tails.is_empty() => {
                                add(&[OPEN], &mut branch.rows);
                            }
                            _ => tails
                                .iter()
                                .for_each(|&tail| add(&[tail], &mut branch.rows)),
                        }
                    }
                    (None, Some(tail)) => self
                        .step(tail, *relation, false)
                        .iter()
                        .for_each(|&head| add(&[head], &mut branch.rows)),
                    (None, None) => {
                        let Some(id) = self.relation(*relation).filter(|id| self.session.sees(*id))
                        else {
                            continue;
                        };
                        let same = new.len() == 1;
                        let limit = self.bounds.rows;
                        self.session.kg().each_pair(id, &mut |head, tail| {
                            if !same {
                                add(&[head, tail], &mut branch.rows);
                            } else if head == tail {
                                add(&[head], &mut branch.rows);
                            }
                            branch.rows.len() <= limit
                        });
                    }
                },
            }
        }
        self.tick(branch.rows.len())
    }
}
