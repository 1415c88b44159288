//! What the gold of Triad's sub-tasks is: triples, links, answer type and template of a gold query graph.

use std::collections::{BTreeMap, BTreeSet};

use kg::Kg;
use kg::term::{Literal, Term};
use kg::value::Op;
use toolbox::exec::{Relation, Session};
use toolbox::limits::MAX_TRIPLES;
use toolbox::triad::{
    AnswerType, End, Filter, IS, IS_A, Operand, PhraseLink, QueryTemplate, TriplePattern,
};

use crate::graph::{Edge, GraphNode, PathStep, PatternGroup, QueryForm, QueryGraph, Var};

/// Gold of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gold {
    pub(super) triples: Vec<TriplePattern>,
    /// For each triple the relation it stands for; none for classes, and where the graph has no such relation.
    pub(super) links: Vec<Option<PhraseLink>>,
    pub(super) template: QueryTemplate,
}

/// Alternatives of a template, as its grammar has them.
const BRANCHES: usize = 3;
/// Conditions of a template, as its grammar has them.
const FILTERS: usize = 2;
/// Characters of the phrase that stands for a relation.
const PHRASE_CHARS: usize = 40;

impl Gold {
    /// The gold of a query graph over a session that has its entities, values and classes; `None` where the sub-tasks cannot say it.
    pub(super) fn of(
        graph: &QueryGraph,
        session: &Session<'_>,
        classes: &[String],
    ) -> Option<Self> {
        let groups = alternatives(&graph.group)?;
        let mut maker = Maker::new(graph, session, classes);
        let branches = groups
            .iter()
            .map(|group| maker.branch(group))
            .collect::<Option<Vec<_>>>()?;
        let (kind, answer) = match graph.form {
            QueryForm::Select(var) => (AnswerType::Select, Some(var)),
            QueryForm::Count(var) => (AnswerType::Count, Some(var)),
            QueryForm::Ask => (AnswerType::Ask, None),
        };
        let extreme = match graph.extreme {
            Some((var, extreme)) => Some((maker.names.get(&var)?.clone(), extreme)),
            None => None,
        };
        let answer = answer.map(|var| maker.names.get(&var).cloned());
        let answer = match answer {
            Some(None) => return None,
            other => other.flatten(),
        };
        if maker.triples.len() > MAX_TRIPLES || maker.filters.len() > FILTERS {
            return None;
        }
        let template = QueryTemplate {
            kind,
            answer,
            branches,
            filters: maker.filters,
            extreme,
        };
        Some(Self {
            triples: maker.triples,
            links: maker.links,
            template,
        })
    }
}

/// A group multiplied out into groups without alternatives.
fn alternatives(group: &PatternGroup) -> Option<Vec<PatternGroup>> {
    let beyond = !group.labels.is_empty() || !group.choices.is_empty();
    if beyond || !group.bounds.is_empty() || !group.blocks.is_empty() {
        return None;
    }
    let mut plain = group.clone();
    let unions = std::mem::take(&mut plain.unions);
    let values = std::mem::take(&mut plain.values);
    let mut all = vec![PatternGroup {
        edges: Vec::new(),
        ..plain.clone()
    }];
    for (var, terms) in &values {
        let with = |group: &PatternGroup, term: &Term| PatternGroup {
            values: [&group.values[..], &[(*var, vec![term.clone()])]].concat(),
            ..group.clone()
        };
        all = all
            .iter()
            .flat_map(|group| terms.iter().map(move |term| with(group, term)))
            .collect();
        if all.len() > BRANCHES {
            return None;
        }
    }
    for edge in &plain.edges {
        let steps: Vec<&PathStep> = edge.steps.iter().collect();
        let with = |group: &PatternGroup, step: &PathStep| {
            let mut longer = group.clone();
            longer.edges.push(Edge {
                steps: vec![step.clone()],
                ..edge.clone()
            });
            longer
        };
        all = all
            .iter()
            .flat_map(|group| steps.iter().map(move |step| with(group, step)))
            .collect();
        if all.len() > BRANCHES {
            return None;
        }
    }
    for branches in &unions {
        let inner: Vec<PatternGroup> = branches
            .iter()
            .map(alternatives)
            .collect::<Option<Vec<_>>>()?
            .concat();
        let mut joined = Vec::new();
        for group in &all {
            for branch in &inner {
                let mut both = group.clone();
                both.absorb(branch.clone());
                joined.push(both);
            }
        }
        all = joined;
        if all.len() > BRANCHES {
            return None;
        }
    }
    (!all.is_empty()).then_some(all)
}

struct Maker<'a, 'g> {
    session: &'a Session<'g>,
    /// Classes (IRIs) that the program names: constraints that matter on this graph.
    classes: &'a [String],
    names: BTreeMap<Var, String>,
    implicit: std::vec::IntoIter<&'static str>,
    attributes: std::vec::IntoIter<&'static str>,
    triples: Vec<TriplePattern>,
    links: Vec<Option<PhraseLink>>,
    filters: Vec<Filter>,
    answer: Option<Var>,
    compared: BTreeSet<Var>,
    fresh: Var,
}

impl<'a, 'g> Maker<'a, 'g> {
    fn new(graph: &QueryGraph, session: &'a Session<'g>, classes: &'a [String]) -> Self {
        let mut compared: BTreeSet<Var> = graph.extreme.iter().map(|(var, _)| *var).collect();
        let mut groups = vec![&graph.group];
        while let Some(group) = groups.pop() {
            compared.extend(group.comparisons.iter().map(|comparison| comparison.var));
            compared.extend(
                group
                    .ordered
                    .iter()
                    .flat_map(|ordered| [ordered.left, ordered.right]),
            );
            groups.extend(group.unions.iter().flatten());
        }
        Self {
            session,
            classes,
            names: BTreeMap::new(),
            implicit: vec!["a", "b", "c", "d"].into_iter(),
            attributes: vec!["n", "m"].into_iter(),
            triples: Vec::new(),
            links: Vec::new(),
            filters: Vec::new(),
            answer: graph.form.answer(),
            compared,
            fresh: Var::MAX,
        }
    }

    fn name(&mut self, var: Var) -> Option<String> {
        if let Some(name) = self.names.get(&var) {
            return Some(name.clone());
        }
        let name = if self.answer == Some(var) {
            "x"
        } else if self.compared.contains(&var) {
            self.attributes.next()?
        } else {
            self.implicit.next()?
        };
        self.names.insert(var, name.to_owned());
        Some(name.to_owned())
    }

    fn end(&mut self, node: &GraphNode) -> Option<End> {
        match node {
            GraphNode::Var(var) => self.name(*var).map(End::Var),
            GraphNode::Entity(iri) => {
                let id = self.session.kg().find(&Term::Iri(iri.clone()))?;
                self.session
                    .linked()
                    .entities
                    .iter()
                    .position(|&entity| entity == id)
                    .map(End::Entity)
            }
            GraphNode::Literal(literal) => {
                // A value is compared, not walked to.
                self.fresh -= 1;
                let var = self.fresh;
                self.compared.insert(var);
                let name = self.name(var)?;
                let value = self.value(literal)?;
                self.filters.push(Filter {
                    var: name.clone(),
                    op: Op::Eq,
                    value: Operand::Value(value),
                });
                Some(End::Var(name))
            }
        }
    }

    /// The handle of a literal: written the same way, or the longest one of which it is a longer form (a date cut to what the tools need).
    fn value(&self, literal: &Literal) -> Option<usize> {
        let values = &self.session.linked().values;
        let same = self.session.linked().value_index(literal);
        same.or_else(|| {
            let shorter =
                (0..values.len()).filter(|&i| literal.lexical.starts_with(&values[i].lexical));
            shorter.max_by_key(|&i| values[i].lexical.len())
        })
    }

    fn push(&mut self, triple: TriplePattern, link: Option<PhraseLink>) -> usize {
        // Alternatives often differ in the relation only, so a triple is the same where its link is too.
        let known =
            (0..self.triples.len()).find(|&i| self.triples[i] == triple && self.links[i] == link);
        known.unwrap_or_else(|| {
            self.triples.push(triple);
            self.links.push(link);
            self.triples.len() - 1
        })
    }

    fn class(&mut self, at: &GraphNode, class: &str) -> Option<Option<usize>> {
        if !self.classes.iter().any(|known| known == class) {
            return Some(None);
        }
        let id = self.session.kg().find(&Term::Iri(class.to_owned()))?;
        let index = self
            .session
            .classes()
            .iter()
            .position(|&offered| offered == id)?;
        let triple = TriplePattern {
            subject: self.end(at)?,
            phrase: IS_A.to_owned(),
            object: End::Class(index),
        };
        Some(Some(self.push(triple, None)))
    }

    /// The triples of one alternative, from what is known to what is not.
    fn branch(&mut self, group: &PatternGroup) -> Option<Vec<usize>> {
        let mut used = Vec::new();
        let mut known: Vec<GraphNode> = Vec::new();
        let is_known = |node: &GraphNode, known: &[GraphNode]| {
            matches!(node, GraphNode::Entity(_)) || known.contains(node)
        };
        let mut edges: Vec<&Edge> = group.edges.iter().collect();
        edges.sort_by_key(|edge| edge.order);
        let mut classes: Vec<&(GraphNode, String)> = group.classes.iter().collect();
        let mut intervals: Vec<_> = group.intervals.iter().collect();
        for (var, terms) in &group.values {
            let [Term::Iri(iri)] = &terms[..] else {
                return None;
            };
            let object = self.end(&GraphNode::Entity(iri.clone()))?;
            let triple = TriplePattern {
                subject: End::Var(self.name(*var)?),
                phrase: IS.to_owned(),
                object,
            };
            used.push(self.push(triple, None));
            known.push(GraphNode::Var(*var));
        }
        while !edges.is_empty() || !classes.is_empty() || !intervals.is_empty() {
            if let Some(at) = intervals
                .iter()
                .position(|interval| is_known(&interval.node, &known))
            {
                let interval = intervals.remove(at);
                used.push(self.interval(interval)?);
            } else if let Some(at) = edges
                .iter()
                .position(|edge| is_known(&edge.subject, &known) || is_known(&edge.object, &known))
            {
                let edge = edges.remove(at);
                let both = is_known(&edge.subject, &known) && is_known(&edge.object, &known);
                let first = self.speaks_first(edge, both, is_known(&edge.subject, &known))?;
                used.push(self.edge(edge, first)?);
                known.extend([edge.subject.clone(), edge.object.clone()]);
            } else if let Some(at) = classes.iter().position(|(node, class)| {
                self.classes.contains(class)
                    && (edges.is_empty()
                        || edges
                            .iter()
                            .any(|edge| edge.subject == *node || edge.object == *node))
            }) {
                let (node, class) = classes.remove(at);
                used.extend(self.class(node, class)?);
                known.push(node.clone());
            } else if !edges.is_empty() {
                let edge = edges.remove(0);
                used.push(self.edge(edge, true)?);
                known.extend([edge.subject.clone(), edge.object.clone()]);
            } else if !classes.is_empty() {
                let (node, class) = classes.remove(0);
                used.extend(self.class(node, class)?);
                known.push(node.clone());
            } else {
                let interval = intervals.remove(0);
                used.push(self.interval(interval)?);
            }
        }
        for comparison in &group.comparisons {
            let value = Operand::Value(self.value(&comparison.value)?);
            let var = self.names.get(&comparison.var)?.clone();
            self.condition(Filter {
                var,
                op: comparison.op,
                value,
            });
        }
        for ordered in &group.ordered {
            let (left, right) = (
                self.names.get(&ordered.left)?.clone(),
                self.names.get(&ordered.right)?.clone(),
            );
            self.condition(Filter {
                var: left,
                op: ordered.op,
                value: Operand::Var(right),
            });
        }
        used.sort_unstable();
        used.dedup();
        (!used.is_empty()).then_some(used)
    }

    fn condition(&mut self, filter: Filter) {
        if !self.filters.contains(&filter) {
            self.filters.push(filter);
        }
    }

    /// Whether the edge's own subject is the end that the triple speaks of first: the known one; of two entities the one said first.
    fn speaks_first(&mut self, edge: &Edge, both: bool, subject: bool) -> Option<bool> {
        if !both {
            return Some(subject);
        }
        Some(match (self.end(&edge.subject)?, self.end(&edge.object)?) {
            (End::Entity(a), End::Entity(b)) => a <= b,
            (End::Entity(_), _) => true,
            (_, End::Entity(_)) => false,
            _ => true,
        })
    }

    fn edge(&mut self, edge: &Edge, subject_first: bool) -> Option<usize> {
        let [step] = &edge.steps[..] else { return None };
        let (first, second) = if subject_first {
            (&edge.subject, &edge.object)
        } else {
            (&edge.object, &edge.subject)
        };
        let (subject, object) = (self.end(first)?, self.end(second)?);
        let kg = self.session.kg();
        let found = kg
            .find(&Term::Iri(step.relation.clone()))
            .map(|node| Relation::Plain(node.relation()));
        let link = found.map(|relation| PhraseLink {
            relation,
            out: step.forward == subject_first,
        });
        let phrase = phrase(kg, &step.relation)?;
        Some(self.push(
            TriplePattern {
                subject,
                phrase,
                object,
            },
            link,
        ))
    }

    fn interval(&mut self, interval: &crate::graph::TimeInterval) -> Option<usize> {
        let kg = self.session.kg();
        let id = |iri: &str| {
            kg.find(&Term::Iri(iri.to_owned()))
                .map(kg::term::NodeId::relation)
        };
        let (from, to) = (id(&interval.from)?, id(&interval.to)?);
        let index = kg
            .schema()
            .intervals
            .iter()
            .position(|known| known.from == from && known.to == to)?;
        let subject = self.end(&interval.node)?;
        self.fresh -= 1;
        let var = self.fresh;
        self.compared.insert(var);
        let name = self.name(var)?;
        let value = self.value(&interval.value)?;
        self.condition(Filter {
            var: name.clone(),
            op: Op::Eq,
            value: Operand::Value(value),
        });
        let phrase = words(&kg.schema().intervals[index].name)?;
        let link = PhraseLink {
            relation: Relation::Interval(index),
            out: true,
        };
        Some(self.push(
            TriplePattern {
                subject,
                phrase,
                object: End::Var(name),
            },
            Some(link),
        ))
    }
}

/// What a relation is called: its label where its name says nothing, else the words of the last segment of its name.
fn phrase(kg: &dyn Kg, iri: &str) -> Option<String> {
    let label = kg
        .find(&Term::Iri(iri.to_owned()))
        .and_then(|node| kg.label(node));
    let own = words(iri);
    // `P31` is no word.
    let telling = own
        .as_ref()
        .is_some_and(|own| own.chars().filter(|c| c.is_alphabetic()).count() > 2);
    if telling {
        own
    } else {
        label.as_deref().and_then(clean).or(own)
    }
}

/// The words of the last segment of a name.
fn words(name: &str) -> Option<String> {
    let last = name.rsplit(['.', '/', '#', ':']).next()?;
    let mut text = String::with_capacity(last.len() + 8);
    let mut before = ' ';
    for c in last.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            text.push(' ');
        }
        text.push(if c == '_' || c == '-' { ' ' } else { c });
        before = c;
    }
    clean(&text)
}

/// A phrase as the grammar of triples allows it.
fn clean(text: &str) -> Option<String> {
    let kept: String = text
        .to_lowercase()
        .chars()
        .map(|c| {
            if c.is_control() || "<>,".contains(c) {
                ' '
            } else {
                c
            }
        })
        .collect();
    let phrase: String = kept
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(PHRASE_CHARS)
        .collect();
    let phrase = phrase.trim_end().to_owned();
    // What says that two are the same is no relation.
    let phrase = if phrase == IS {
        format!("{IS} of")
    } else {
        phrase
    };
    (phrase.chars().count() >= 2).then_some(phrase)
}
