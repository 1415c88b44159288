//! Texts of which a question says a part: `films with "star" in the title`, `companies whose name contains the word Bank`.
//! The graph's texts that have the part are compared one by one, since no tool compares parts. English.

use kg::term::{Literal, Term};
use kg::value::{Kind, Op};

use super::judging::NAMED;
use super::nodes::leads_to_names;
use super::plan::{Against, Hop, Way, bit};
use super::question::Asked;
use super::search::{Search, Searched};
use super::state::State;
use super::values::kind_of;
use super::words::Explainer;
use crate::exec::{Adjacent, EntSet, Relation, sorted};

/// Texts with the part that are compared, at most: a program has 32 calls.
const MOST: usize = 25;

impl State {
    /// Whether a plan leaves out the part of a text that the question says, and so answers another question.
    pub(super) fn misses_part(&self, asked: &Asked) -> bool {
        asked.part.is_some() && !self.tally.part
    }
}

impl Search<'_> {
    /// The members of a class with texts that have the part that the question says: in a column that the question speaks of, or
    /// in their names.
    pub(super) fn containing(
        &self,
        state: &State,
        adjacent: &[Adjacent],
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) -> Searched {
        let asked = explainer.asked;
        let Some(part) = asked.part.as_ref().filter(|_| !state.tally.part) else {
            return Ok(());
        };
        let session = explainer.session;
        let way = Way::Out;
        let columns = adjacent.iter().filter(|one| one.out).filter(|one| {
            let Relation::Plain(id) = one.relation else {
                return false;
            };
            let relation = one.relation;
            let words = explainer.hop(Hop { relation, way }).words;
            let spoken = words.iter().any(|p| *p >= NAMED);
            (spoken || leads_to_names(session.kg(), id))
                && kind_of(explainer, one) == Some(Kind::Text)
        });
        let columns: Vec<Relation> = columns
            .map(|one| one.relation)
            .chain(
                session
                    .kg()
                    .schema()
                    .label_relations
                    .iter()
                    .copied()
                    .map(Relation::Plain),
            )
            .collect();
        for relation in columns {
            self.cancel.check()?;
            let mut texts: Vec<Literal> = Vec::new();
            let mut members = Vec::new();
            for &node in state.nodes.iter() {
                if texts.len() > MOST {
                    break;
                }
                for &tail in session.step(node, relation, true).iter() {
                    let Term::Literal(text) = session.kg().term(tail) else {
                        continue;
                    };
                    if part.is_in(&text.lexical) {
                        members.push(node);
                        if !texts.contains(&text) {
                            texts.push(text);
                        }
                    }
                }
            }
            // Too many of what the question asks for: some of them are no answer, nor are other things.
            let many = texts.len() > MOST;
            self.too_many
                .set(self.too_many.get() || many && state.plan.steps.is_empty());
            if texts.is_empty() || many {
                continue;
            }
            texts.sort_by(|a, b| a.lexical.cmp(&b.lexical));
            let members: EntSet = sorted(members);
            let mut kept =
                state.compare(relation, Op::Eq, Against::Texts(texts), members, explainer);
            kept.tally.part = true;
            // What is quoted may be linked too.
            let linked = session.linked();
            for entity in 0..linked.entities.len() {
                if linked
                    .span(entity)
                    .is_some_and(|(start, _)| part.covers(start))
                {
                    kept.tally.entities |= bit(entity);
                }
            }
            for (index, value) in linked.values.iter().enumerate() {
                if part.text.contains(&value.lexical.to_lowercase()) {
                    kept.tally.values |= bit(index);
                }
            }
            self.keep(next, kept);
        }
        Ok(())
    }
}
