//! The right results of Triad's sub-tasks (their gold): triples, links, answer type and template of
//! a gold query graph.

use std::collections::{BTreeMap, BTreeSet};

use kg::term::{Literal, Term};
use kg::value::Op;
use toolbox::exec::{Relation, Session};
use toolbox::limits::MAX_TRIPLES;
use toolbox::triad::{
    AnswerType, End, Filter, IS, IS_A, Operand, PhraseLink, QueryTemplate, TriplePattern,
};

use super::alternatives::alternatives;
use super::phrase::{name_phrase, relation_phrase};
use crate::graph::{Edge, GraphNode, PatternGroup, QueryForm, QueryGraph, TimeInterval, Var};

/// The gold of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TriadGold {
    pub(super) triples: Vec<TriplePattern>,
    /// The relation of each triple; `None` for classes and if the graph lacks the relation.
    pub(super) links: Vec<Option<PhraseLink>>,
    pub(super) template: QueryTemplate,
}

/// Maximum number of conditions of a template, as in its grammar.
const FILTERS: usize = 2;

impl TriadGold {
    /// The gold of a query graph over a session with its entities, values and classes; `None` if
    /// the sub-tasks cannot express it.
    pub(super) fn of(
        graph: &QueryGraph,
        session: &Session<'_>,
        classes: &[String],
    ) -> Option<Self> {
        let groups = alternatives(&graph.group)?;
        let mut builder = GoldBuilder::new(graph, session, classes);
        let branches = groups
            .iter()
            .map(|group| builder.branch(group))
            .collect::<Option<Vec<_>>>()?;
        let (kind, answer) = match graph.form {
            QueryForm::Select(var) => (AnswerType::Select, Some(var)),
            QueryForm::Count(var) => (AnswerType::Count, Some(var)),
            QueryForm::Ask => (AnswerType::Ask, None),
        };
        let name = |var: Var| builder.names.get(&var).cloned();
        let answer = match answer {
            Some(var) => Some(name(var)?),
            None => None,
        };
        let extreme = match graph.extreme {
            Some((var, extreme)) => Some((name(var)?, extreme)),
            None => None,
        };
        if builder.triples.len() > MAX_TRIPLES || builder.filters.len() > FILTERS {
            return None;
        }
        let template = QueryTemplate {
            kind,
            answer,
            branches,
            filters: builder.filters,
            extreme,
        };
        Some(Self {
            triples: builder.triples,
            links: builder.links,
            template,
        })
    }
}

/// Entities and the nodes of earlier triples.
#[derive(Default)]
struct KnownNodes(Vec<GraphNode>);

impl KnownNodes {
    fn contains(&self, node: &GraphNode) -> bool {
        matches!(node, GraphNode::Entity(_)) || self.0.contains(node)
    }
}

struct GoldBuilder<'a, 'g> {
    session: &'a Session<'g>,
    /// IRIs of the classes that the program names: the class constraints with an effect on this
    /// graph.
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

impl<'a, 'g> GoldBuilder<'a, 'g> {
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
                // A literal becomes a variable with a filter.
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

    /// The handle of a literal: of the equal value, or of the longest value that is a prefix of it
    /// (such as the year of a date).
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
        // Alternatives may differ only in the relation, so links are compared too.
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

    /// The triples of one alternative, ordered from known to unknown nodes.
    fn branch(&mut self, group: &PatternGroup) -> Option<Vec<usize>> {
        let mut used = Vec::new();
        let mut known = KnownNodes::default();
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
            known.0.push(GraphNode::Var(*var));
        }
        self.triples_of(group, &mut known, &mut used)?;
        self.conditions_of(group)?;
        used.sort_unstable();
        used.dedup();
        (!used.is_empty()).then_some(used)
    }

    /// Adds the triples of intervals, edges and classes, those next to known nodes first.
    fn triples_of(
        &mut self,
        group: &PatternGroup,
        known: &mut KnownNodes,
        used: &mut Vec<usize>,
    ) -> Option<()> {
        let mut edges: Vec<&Edge> = group.edges.iter().collect();
        edges.sort_by_key(|edge| edge.order);
        let mut classes: Vec<&(GraphNode, String)> = group.classes.iter().collect();
        let mut intervals: Vec<_> = group.intervals.iter().collect();
        let touches = |edge: &Edge, known: &KnownNodes| {
            known.contains(&edge.subject) || known.contains(&edge.object)
        };
        while !edges.is_empty() || !classes.is_empty() || !intervals.is_empty() {
            let class_first = |(node, class): &&(GraphNode, String)| {
                let joins = |edge: &&Edge| edge.subject == *node || edge.object == *node;
                self.classes.contains(class) && (edges.is_empty() || edges.iter().any(joins))
            };
            if let Some(at) = intervals
                .iter()
                .position(|interval| known.contains(&interval.node))
            {
                used.push(self.interval(intervals.remove(at))?);
            } else if let Some(at) = edges.iter().position(|edge| touches(edge, known)) {
                let edge = edges.remove(at);
                let first = self.subject_first(edge, known)?;
                used.push(self.edge(edge, first)?);
                known.0.extend([edge.subject.clone(), edge.object.clone()]);
            } else if let Some(at) = classes.iter().position(class_first) {
                let (node, class) = classes.remove(at);
                used.extend(self.class(node, class)?);
                known.0.push(node.clone());
            } else if !edges.is_empty() {
                let edge = edges.remove(0);
                used.push(self.edge(edge, true)?);
                known.0.extend([edge.subject.clone(), edge.object.clone()]);
            } else if !classes.is_empty() {
                let (node, class) = classes.remove(0);
                used.extend(self.class(node, class)?);
                known.0.push(node.clone());
            } else {
                used.push(self.interval(intervals.remove(0))?);
            }
        }
        Some(())
    }

    /// Adds the filters of comparisons.
    fn conditions_of(&mut self, group: &PatternGroup) -> Option<()> {
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
            let left = self.names.get(&ordered.left)?.clone();
            let right = self.names.get(&ordered.right)?.clone();
            self.condition(Filter {
                var: left,
                op: ordered.op,
                value: Operand::Var(right),
            });
        }
        Some(())
    }

    fn condition(&mut self, filter: Filter) {
        if !self.filters.contains(&filter) {
            self.filters.push(filter);
        }
    }

    /// Whether the triple starts with the edge's subject: with the known node if only one is known,
    /// and with the entity mentioned first if both are entities.
    fn subject_first(&mut self, edge: &Edge, known: &KnownNodes) -> Option<bool> {
        let subject = known.contains(&edge.subject);
        if !subject || !known.contains(&edge.object) {
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
        let phrase = relation_phrase(kg, &step.relation)?;
        Some(self.push(
            TriplePattern {
                subject,
                phrase,
                object,
            },
            link,
        ))
    }

    fn interval(&mut self, interval: &TimeInterval) -> Option<usize> {
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
        let phrase = name_phrase(&kg.schema().intervals[index].name)?;
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
