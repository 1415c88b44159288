//! Triad's training data: the gold of all seven sub-tasks, derived from the gold query and verified
//! by running the filled template. The conversations come from answering the requests that
//! inference would make.

mod alternatives;
mod gold;
mod phrase;

use std::time::Instant;

use common::transcript::Turn;
use kg::Kg;
use toolbox::exec::{Session, Value};
use toolbox::link;
use toolbox::prompt::{Layout, Template};
use toolbox::rank::RankError;
use toolbox::triad::{
    self, Bounds, Ended, FilledQuery, Options, SubTask, TriadFailure, Tried, Try, fill,
    print_triples, solve,
};

use self::gold::TriadGold;
use crate::convert::{Context, graph_of};
use crate::example::{AgentExamples, Example, ExampleBuilder};
use crate::question::GoldQuestion;
use crate::verify::{self, Refused, Verified, VerifyOptions};
use common::hash;

/// Makes Triad's examples.
pub(super) struct TriadExamples<'a> {
    kg: &'a dyn Kg,
    builder: ExampleBuilder<'a>,
    options: &'a VerifyOptions,
}

/// Share of the questions with two relations per selection; the others have one, and a model must
/// be able to do both.
const TWO_RELATIONS: f64 = 0.3;
/// Share of the questions with an example of a missing relation, in addition to those of every
/// agent.
const MISSING: f64 = 0.25;
/// Share of the conversations that start after a failed try.
const RETRIED: f64 = 0.1;
/// The same share among abstention examples, which end where the earlier try ended.
const RETRIED_MISSING: f64 = 0.4;
/// Share of the questions with entity selections.
const ENTITIES: f64 = 0.3;

impl<'a> TriadExamples<'a> {
    pub(super) fn new(kg: &'a dyn Kg, template: &'a Template, options: &'a VerifyOptions) -> Self {
        Self {
            kg,
            builder: ExampleBuilder::new(kg, template),
            options,
        }
    }

    fn gold<'g>(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
        session: &Session<'g>,
    ) -> Option<TriadGold> {
        let query = verify::parsed(question).ok()?;
        let known = |kg| {
            graph_of(
                &query,
                &Context {
                    kg,
                    ..Context::default()
                },
            )
            .ok()
        };
        // A query that the graph's schema does not cover is read without the graph.
        let graph = known(Some(self.kg)).or_else(|| known(None))?;
        let classes = verified.must_offer.iter();
        let classes: Vec<String> = classes.filter_map(|&class| self.kg.iri(class)).collect();
        TriadGold::of(&graph, session, &classes)
    }

    /// The filled gold query, if it gives the answer.
    fn filled(
        &self,
        gold: &TriadGold,
        verified: &Verified,
        session: &Session<'_>,
    ) -> Option<FilledQuery> {
        let query = fill(
            &gold.template,
            &gold.triples,
            &gold.links,
            &session.linked().entities,
            session,
        )
        .ok()?;
        let bounds = Bounds {
            until: Instant::now() + self.options.deadline,
            rows: Options::default().rows,
        };
        let solved = solve(session, &query, bounds).ok()?;
        (solved.value == verified.value).then_some(query)
    }

    /// Conversations of a question: the main one, and one per query selection.
    fn conversations(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
    ) -> Result<Option<Vec<Vec<Turn>>>, RankError> {
        let mut options = verified.exec_options(self.options);
        let open = |options| {
            let (linked, offered) = (verified.linked.clone(), &verified.must_offer);
            Session::new(self.kg, &question.question, linked, offered, options)
        };
        let Some(gold) = self.gold(question, verified, &open(options.clone())?) else {
            return Ok(None);
        };
        options
            .must_show
            .extend(gold.links.iter().flatten().map(|link| link.relation));
        let session = open(options)?;
        let query = self.filled(&gold, verified, &session);
        if query.is_none() && !verified.abstain {
            return Ok(None);
        }
        let query = query.filter(|_| !verified.abstain);
        let two = hash::falls_into(TWO_RELATIONS, 0, "relations", &question.id);
        let options = Options {
            relations: if two { 2 } else { 1 },
            ..Options::default()
        };
        let share = if verified.abstain {
            RETRIED_MISSING
        } else {
            RETRIED
        };
        let before = match hash::falls_into(share, 0, "retried", &question.id) {
            true if verified.abstain => {
                let missing = (0..gold.triples.len())
                    .filter(|&i| !gold.triples[i].is_given())
                    .find(|&i| gold.links[i].is_none_or(|link| !visible(&session, verified, link)));
                let Some(missing) = missing else {
                    return Ok(None);
                };
                vec![TriadFailure::NoRelation(gold.triples[missing].to_string())]
            }
            true => vec![TriadFailure::NoSolution(String::new())],
            false => Vec::new(),
        };
        let entities = session
            .linked()
            .entities
            .iter()
            .map(|&node| vec![node])
            .collect();
        let mut attempt = Try::new(
            &session,
            &options,
            entities,
            self.options.deadline,
            &before,
            Tried::default(),
        );
        let mut all = Vec::new();
        while let Some(request) = attempt.request() {
            let text = gold_answer(
                &gold,
                query.as_ref(),
                request.task,
                &attempt,
                options.relations,
            );
            let Some(text) = text.filter(|text| request.grammar.matches(text)) else {
                return Ok(None);
            };
            if request.task == SubTask::Query {
                let mut turns = request.turns;
                turns.push(Turn::call(text.clone()));
                all.push(turns);
            }
            attempt.take(&text)?;
        }
        let right = match attempt.end() {
            None => false,
            Some(Ended::Answer(_, solved)) => !verified.abstain && solved.value == verified.value,
            Some(Ended::Failed(failure)) => {
                verified.abstain && matches!(failure, TriadFailure::NoRelation(_))
            }
        };
        all.insert(0, attempt.turns().to_vec());
        Ok(right.then_some(all))
    }

    /// Entity selections: the intended meaning of each ambiguous mention.
    fn entity_selections(&self, question: &GoldQuestion, verified: &Verified) -> Vec<Vec<Turn>> {
        let mut all = Vec::new();
        for &node in &verified.linked.entities {
            let Some((start, end)) = link::mention(self.kg, &question.question, node) else {
                continue;
            };
            let mention = &question.question[start..end];
            let Ok(found) = link::candidates(self.kg, mention) else {
                continue;
            };
            let mut nodes: Vec<_> = found.into_iter().map(|candidate| candidate.node).collect();
            if nodes.len() < 2 {
                continue;
            }
            let place = nodes.iter().position(|&candidate| candidate == node);
            if place.is_none_or(|place| place >= triad::MEANINGS) {
                // In training the intended meaning is always among the candidates.
                nodes.retain(|&candidate| candidate != node);
                nodes.truncate(triad::MEANINGS - 1);
                nodes.push(node);
            }
            nodes.truncate(triad::MEANINGS);
            let request = triad::entity_request(self.kg, &question.question, mention, &nodes, 1);
            let Some(place) = nodes.iter().position(|&candidate| candidate == node) else {
                continue;
            };
            let mut turns = request.turns;
            turns.push(Turn::call(format!("d{place}")));
            all.push(turns);
        }
        all
    }

    fn write(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
        conversations: &[Vec<Turn>],
        examples: &mut Vec<Example>,
    ) {
        examples.extend(conversations.iter().map(|turns| {
            let trained = turns.iter().filter(|turn| turn.trained).count();
            Example {
                step: trained,
                n_steps: trained,
                layout: Layout::Dialogue,
                ..self.builder.example(question, verified, turns, 1)
            }
        }));
    }
}

/// Whether a session shows the relation of a link.
fn visible(session: &Session<'_>, verified: &Verified, link: triad::PhraseLink) -> bool {
    match link.relation {
        toolbox::exec::Relation::Plain(id) => {
            !verified.without.contains(&id) && session.kg().uses(id) > 0
        }
        toolbox::exec::Relation::Interval(_) => true,
    }
}

/// The gold answer to a request.
fn gold_answer(
    gold: &TriadGold,
    query: Option<&FilledQuery>,
    task: SubTask,
    attempt: &Try<'_, '_>,
    most: usize,
) -> Option<String> {
    Some(match task {
        SubTask::Triples => print_triples(&gold.triples),
        SubTask::Type => gold.template.kind.text().to_owned(),
        SubTask::Relations(triple) => {
            let shown = attempt.shown();
            match gold.links[triple]
                .and_then(|link| shown.iter().position(|(other, _)| *other == link))
            {
                Some(right) => {
                    let others = (0..shown.len()).filter(|&i| i != right);
                    let chosen = std::iter::once(right).chain(others).take(most);
                    chosen
                        .map(|i| shown[i].1.clone())
                        .collect::<Vec<_>>()
                        .join(", ")
                }
                // The relation exists, but not at this triple, so something else is missing.
                None if query.is_none() => triad::grammar::NONE.to_owned(),
                None => return None,
            }
        }
        SubTask::Template => gold.template.to_string(),
        SubTask::Query => {
            let place = attempt
                .matched()
                .iter()
                .position(|(matched, _)| Some(matched) == query)?;
            format!("q{place}")
        }
        SubTask::Answer => triad::FROM_GRAPH.to_owned(),
        SubTask::Entity => return None,
    })
}

impl AgentExamples for TriadExamples<'_> {
    fn examples(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
    ) -> Result<Vec<Example>, Refused> {
        let mut examples = Vec::new();
        let Some(conversations) = self.conversations(question, verified)? else {
            return Ok(examples);
        };
        self.write(question, verified, &conversations, &mut examples);
        if verified.abstain {
            return Ok(examples);
        }
        if hash::falls_into(ENTITIES, 0, "entities", &question.id) {
            self.write(
                question,
                verified,
                &self.entity_selections(question, verified),
                &mut examples,
            );
        }
        if matches!(verified.value, Value::Set(_))
            && hash::falls_into(MISSING, 0, "missing", &question.id)
        {
            let choice = hash::number(0, "missing relation", &question.id);
            if let Some(abstained) =
                verify::abstention(self.kg, question, verified, self.options, choice).transpose()?
                && let Some(conversations) = self.conversations(question, &abstained)?
            {
                self.write(question, &abstained, &conversations, &mut examples);
            }
        }
        Ok(examples)
    }
}
