//! The prompts of ODA's steps.

use super::super::names::{id, shown};
use super::{OdaRequest, PublishedOda};
use crate::observe::{Hop, ObservedTriple, PathLink};
use crate::prompts::{ODA_ACTION, ODA_ANSWER, ODA_FACTS, ODA_REFLECTION};
use crate::tokens;
use common::transcript::{Part, Turn};
use kg::term::NodeId;

/// What stands where there is nothing.
const NOTHING: &str = "none";

impl PublishedOda<'_> {
    pub(super) fn prompt(&self, asked: OdaRequest) -> Turn {
        let question = Part::user(self.session.question());
        let memory = Part::kg(or_nothing(self.memory_lines().join("\n")));
        let observation = || Part::kg(or_nothing(self.observation_text()));
        let kept = || Part::ours(self.options.kept.to_string());
        match asked {
            OdaRequest::Action => ODA_ACTION.turn(&[
                ("question", question),
                ("memory", memory),
                ("candidates", Part::kg(self.listed(false))),
                ("labels", Part::kg(self.listed(true))),
                ("observation", observation()),
                ("history", Part::kg(or_nothing(self.actions.join(", ")))),
            ]),
            OdaRequest::Reflection => ODA_REFLECTION.turn(&[
                ("question", question),
                ("memory", memory),
                ("observation", observation()),
                ("kept", kept()),
                ("triples", Part::kg(self.offered_text())),
                ("labels", Part::kg(self.found_labels())),
            ]),
            OdaRequest::Facts => ODA_FACTS.turn(&[
                ("question", question),
                ("memory", memory),
                ("observation", observation()),
                ("kept", kept()),
            ]),
            OdaRequest::Answer => ODA_ANSWER.turn(&[("question", question), ("memory", memory)]),
        }
    }

    /// The memory, one path a line: `Q1490 [Tokyo] -P36 [capital]-> Q179645 [Shinjuku]`.
    pub(super) fn memory_lines(&self) -> Vec<String> {
        let kg = self.session.kg();
        let line = |path: &Vec<Hop>| {
            let near = path.first().map(|hop| shown(kg, hop.near()));
            let mut text = near.unwrap_or_default();
            for hop in path {
                let relation = shown(kg, hop.triple.1.node());
                text.push_str(&if hop.forward {
                    format!(" -{relation}-> ")
                } else {
                    format!(" <-{relation}- ")
                });
                text.push_str(&shown(kg, hop.far()));
            }
            text
        };
        let paths = self.memory.paths().iter().map(line);
        paths.chain(self.facts.iter().cloned()).collect()
    }

    /// The candidates, by id or with their labels.
    fn listed(&self, labels: bool) -> String {
        let kg = self.session.kg();
        let one = |&node: &NodeId| {
            if labels {
                shown(kg, node)
            } else {
                id(kg, node)
            }
        };
        self.tasks.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// A triple with ids and labels.
    fn triple_text(&self, (s, r, o): ObservedTriple) -> String {
        let kg = self.session.kg();
        let [s, r, o] = [s, r.node(), o].map(|node| shown(kg, node));
        format!("({s}, {r}, {o})")
    }

    /// The triples that a reflection chooses from, by id.
    fn offered_text(&self) -> String {
        let kg = self.session.kg();
        let line = |hop: &Hop| {
            let (s, r, o) = hop.triple;
            let [s, r, o] = [s, r.node(), o].map(|node| id(kg, node));
            format!("({s}, {r}, {o})")
        };
        self.found.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The labels of everything in the candidate triples.
    fn found_labels(&self) -> String {
        let kg = self.session.kg();
        let mut nodes: Vec<NodeId> = Vec::new();
        for (s, r, o) in self.found.iter().map(|hop| hop.triple) {
            for node in [s, r.node(), o] {
                if !nodes.contains(&node) {
                    nodes.push(node);
                }
            }
        }
        let texts = nodes
            .into_iter()
            .map(|node| (shown(kg, node), id(kg, node)));
        let labelled = texts
            .filter(|(text, name)| text != name)
            .map(|(text, _)| text);
        or_nothing(labelled.collect::<Vec<_>>().join(", "))
    }

    /// As many of the best triples as the budget of a prompt has room for.
    pub(super) fn within_budget(&self, hops: impl Iterator<Item = Hop>) -> Vec<Hop> {
        let mut left = self.options.triple_tokens;
        hops.take_while(|hop| {
            let cost = tokens::estimate(&self.triple_text(hop.triple));
            let fits = cost <= left;
            left = left.saturating_sub(cost);
            fits
        })
        .collect()
    }

    /// The observation, task by task; the triples least similar to the question are left out first.
    fn observation_text(&self) -> String {
        let mut order: Vec<usize> = (0..self.observed.len()).collect();
        order.sort_by(|&a, &b| {
            let score = |at: usize| self.observed[at].score;
            score(b).total_cmp(&score(a)).then(a.cmp(&b))
        });
        let mut left = self.options.observation_tokens;
        let mut kept: Vec<usize> = order
            .into_iter()
            .take_while(|&at| {
                let cost = tokens::estimate(&self.triple_text(self.observed[at].triple));
                let fits = cost <= left;
                left = left.saturating_sub(cost);
                fits
            })
            .collect();
        kept.sort_unstable();
        let mut lines = Vec::new();
        let mut task = None;
        for at in kept {
            let one = &self.observed[at];
            if task.replace(one.task) != Some(one.task) && !self.options.observe.joint {
                let entity = self
                    .tasks
                    .get(one.task)
                    .map(|&node| shown(self.session.kg(), node));
                lines.push(format!("around {}:", entity.unwrap_or_default()));
            }
            lines.push(self.triple_text(one.triple));
        }
        lines.join("\n")
    }
}

fn or_nothing(text: String) -> String {
    if text.is_empty() {
        NOTHING.to_owned()
    } else {
        text
    }
}
