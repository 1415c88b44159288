//! Graphs of a query: copies of its patterns with fresh and shared nodes, values near its
//! constants, and near misses.

use std::collections::BTreeMap;

use kg::FrozenKg;
use kg::spargebra::algebra::PropertyPathExpression;
use kg::spargebra::term::TermPattern;
use kg::term::{Literal, Term, XSD};

use super::{Dice, Fact, Frozen, iri, literal, name};

impl Frozen {
    pub(crate) fn graph(&self, seed: u64) -> FrozenKg {
        let mut maker = Maker {
            frozen: self,
            dice: Dice(seed),
            copies: Vec::new(),
            triples: Vec::new(),
            fresh: 0,
            seen: BTreeMap::new(),
            steady: seed.is_multiple_of(2),
        };
        let copies = 2 + maker.dice.below(4);
        for copy in 0..copies {
            maker.copy(copy);
        }
        maker.noise();
        FrozenKg::from_triples(maker.triples)
    }
}

struct Maker<'f> {
    frozen: &'f Frozen,
    dice: Dice,
    /// The values of the variables of each copy.
    copies: Vec<BTreeMap<String, Term>>,
    triples: Vec<[Term; 3]>,
    fresh: usize,
    /// Values given before, to produce ties.
    seen: BTreeMap<String, Vec<Term>>,
    /// Whether attributes of the query's own constants have one value each.
    steady: bool,
}

impl Maker<'_> {
    fn copy(&mut self, copy: usize) {
        let frozen = self.frozen;
        let mut bound: BTreeMap<String, Term> = BTreeMap::new();
        // The first copy is complete; later ones may lack something.
        let whole = copy == 0 || self.dice.percent(40);
        let missing = if whole {
            usize::MAX
        } else {
            self.dice.below(frozen.facts.len().max(1))
        };
        let sides: Vec<usize> = (0..=frozen.unions).map(|_| self.dice.below(2)).collect();
        let both = self.dice.percent(20);
        for (i, fact) in frozen.facts.iter().enumerate() {
            let elsewhere = !both
                && fact
                    .branches
                    .iter()
                    .any(|&(union, side)| sides[union] != side);
            if i == missing || elsewhere || (fact.maybe && self.dice.percent(40)) {
                continue;
            }
            let (subject, object) = (
                self.term(&fact.subject, copy, &mut bound, whole),
                self.term(&fact.object, copy, &mut bound, whole),
            );
            self.path(&subject, &fact.path, &object);
            // A second value of the same attribute.
            if self.dice.percent(12)
                && let Some(variable) = name(&fact.object)
            {
                let other = self.fresh_term(&variable, copy, false);
                self.path(&subject, &fact.path, &other);
            }
        }
        self.copies.push(bound);
    }

    fn term(
        &mut self,
        node: &TermPattern,
        copy: usize,
        bound: &mut BTreeMap<String, Term>,
        whole: bool,
    ) -> Term {
        let Some(variable) = name(node) else {
            return match node {
                TermPattern::NamedNode(node) => iri(node.as_str()),
                TermPattern::Literal(value) => Term::Literal(literal(value)),
                _ => iri("http://ex.org/odd"),
            };
        };
        if let Some(known) = bound.get(&variable) {
            return known.clone();
        }
        let twins = self.frozen.same.iter().filter_map(|(a, b)| {
            if *a == variable {
                Some(b)
            } else if *b == variable {
                Some(a)
            } else {
                None
            }
        });
        let twin = twins.filter_map(|twin| bound.get(twin)).next().cloned();
        let term = match twin {
            Some(twin) if whole || self.dice.percent(70) => twin,
            _ => self.fresh_term(&variable, copy, whole),
        };
        bound.insert(variable, term.clone());
        term
    }

    fn fresh_term(&mut self, variable: &str, copy: usize, whole: bool) -> Term {
        let frozen = self.frozen;
        if let Some(values) = frozen.values.get(variable)
            && (whole || self.dice.percent(70))
            && let Some(value) = self.dice.pick(values)
        {
            return value.clone();
        }
        if !whole
            && self.dice.percent(15)
            && let Some(value) = frozen
                .differ
                .get(variable)
                .and_then(|values| self.dice.pick(values))
        {
            return value.clone();
        }
        let known = self.seen.get(variable).cloned().unwrap_or_default();
        let of_constants = |fact: &Fact| {
            name(&fact.object).as_deref() != Some(variable) || name(&fact.subject).is_none()
        };
        if self.steady
            && frozen.facts.iter().all(of_constants)
            && let Some(first) = known.first()
        {
            return first.clone();
        }
        let comparisons = frozen.compared.get(variable).cloned().unwrap_or_default();
        let is_literal = !comparisons.is_empty() || frozen.literal.contains(variable);
        let free = !frozen.subjects.contains(variable)
            && !frozen.values.contains_key(variable)
            && !frozen.differ.contains_key(variable);
        let term = if !known.is_empty() && self.dice.percent(25) {
            // Shared nodes and ties.
            self.dice
                .pick(&known)
                .cloned()
                .unwrap_or_else(|| iri("http://ex.org/odd"))
        } else if is_literal && free {
            let less = frozen.ordered.iter().any(|(less, _)| less == variable);
            let more = frozen.ordered.iter().any(|(_, more)| more == variable);
            if whole && less != more {
                Term::Literal(Literal::xsd(
                    format!(
                        "{}-03-04",
                        if less { 1901 } else { 2031 } + self.dice.below(9)
                    ),
                    "date",
                ))
            } else {
                Term::Literal(self.literal(&comparisons, whole))
            }
        } else if free && copy % 2 == 1 && self.dice.percent(25) {
            Term::Literal(self.text())
        } else {
            self.fresh += 1;
            iri(format!("http://ex.org/n/{variable}{}", self.fresh).replace("_:", "b"))
        };
        self.seen
            .entry(variable.to_owned())
            .or_default()
            .push(term.clone());
        term
    }

    fn text(&mut self) -> Literal {
        let word = *self
            .dice
            .pick(&["North", "north", "South", "South Bank", "South_Bank"])
            .unwrap_or(&"North");
        let lang = *self
            .dice
            .pick(&[None, Some("en"), Some("de")])
            .unwrap_or(&None);
        Literal {
            lexical: word.to_owned(),
            datatype: None,
            lang: lang.map(str::to_owned),
        }
    }

    /// A value near the constants that the variable is compared with, or of some sortable kind.
    fn literal(&mut self, comparisons: &[(char, Literal)], whole: bool) -> Literal {
        let Some((op, constant)) = self.dice.pick(comparisons).cloned() else {
            let n = self.dice.below(6) as i64;
            return match self.dice.below(12) {
                0 => Literal::xsd(format!("{n}.5"), "decimal"),
                1 => Literal::xsd(format!("{n}.0"), "double"),
                2 => Literal::plain(n.to_string()),
                3 => Literal::xsd(format!("20{n}1"), "gYear"),
                4..7 => Literal::xsd(format!("20{n}1-03-04"), "date"),
                7 => Literal::xsd(format!("20{n}1-03-04T10:00:00Z"), "dateTime"),
                _ => Literal::xsd(n.to_string(), "integer"),
            };
        };
        let shift: i64 = match (whole, op) {
            (true, '>') => 1,
            (true, '<') => -1,
            (true, '=') => 0,
            (true, _) => 1,
            (false, _) => self.dice.below(3) as i64 - 1,
        };
        let near = nearby(&constant, shift);
        let odd = if whole { 6 } else { 25 };
        if !self.dice.percent(odd) {
            return near;
        }
        // Mixed datatypes, partial dates, other languages.
        match self.dice.below(4) {
            0 => Literal::plain(near.lexical),
            1 if near.lexical.len() >= 10 && near.lexical.contains('-') => {
                Literal::xsd(&near.lexical[..4], "gYear")
            }
            1 => Literal::xsd(near.lexical, "decimal"),
            2 if near.lexical.len() >= 10 && near.lexical.contains('-') => {
                Literal::xsd(format!("{}T12:00:00Z", &near.lexical[..10]), "dateTime")
            }
            2 => Literal {
                lexical: near.lexical.to_uppercase(),
                datatype: None,
                lang: Some("de".to_owned()),
            },
            _ => Literal {
                lexical: near.lexical,
                datatype: None,
                lang: Some("en".to_owned()),
            },
        }
    }

    fn path(&mut self, subject: &Term, path: &PropertyPathExpression, object: &Term) {
        use PropertyPathExpression as P;
        match path {
            P::NamedNode(name) => {
                if !matches!(subject, Term::Literal(_)) {
                    self.triples
                        .push([subject.clone(), iri(name.as_str()), object.clone()]);
                }
            }
            P::Reverse(inner) => self.path(object, inner, subject),
            P::Sequence(first, second) => {
                let optional = |path: &P| matches!(path, P::ZeroOrMore(_) | P::ZeroOrOne(_));
                if optional(second) && self.dice.percent(60) {
                    return self.path(subject, first, object);
                }
                if optional(first) && self.dice.percent(60) {
                    return self.path(subject, second, object);
                }
                self.fresh += 1;
                let middle = iri(format!("http://ex.org/m/{}", self.fresh));
                self.path(subject, first, &middle);
                self.path(&middle, second, object);
            }
            P::Alternative(a, b) => {
                let side = if self.dice.percent(50) { a } else { b };
                self.path(subject, side, object);
            }
            P::ZeroOrMore(inner) | P::OneOrMore(inner) if self.dice.percent(40) => {
                self.fresh += 1;
                let middle = iri(format!("http://ex.org/m/{}", self.fresh));
                self.path(subject, inner, &middle);
                self.path(&middle, inner, object);
            }
            P::ZeroOrMore(inner) | P::OneOrMore(inner) | P::ZeroOrOne(inner) => {
                self.path(subject, inner, object);
            }
            P::NegatedPropertySet(_) => self.triples.push([
                subject.clone(),
                iri("http://ex.org/r/other"),
                object.clone(),
            ]),
        }
    }

    /// Near misses: triples of the copies with one end replaced.
    fn noise(&mut self) {
        let made = self.triples.clone();
        for _ in 0..self.dice.below(made.len() + 1) {
            let (Some(a), Some(b)) = (
                self.dice.pick(&made).cloned(),
                self.dice.pick(&made).cloned(),
            ) else {
                return;
            };
            let [subject, relation, object] = a;
            match self.dice.below(4) {
                0 => self.triples.push([b[0].clone(), relation, object]),
                1 if b[1] == relation => self.triples.push([subject, relation, b[2].clone()]),
                2 if !matches!(object, Term::Literal(_)) && !matches!(b[2], Term::Literal(_)) => {
                    self.triples.push([object, relation, subject]);
                }
                _ => {
                    self.fresh += 1;
                    self.triples.push([
                        iri(format!("http://ex.org/o/{}", self.fresh)),
                        relation,
                        object,
                    ]);
                }
            }
        }
    }
}

/// A literal of the same datatype, `shift` steps away.
fn nearby(constant: &Literal, shift: i64) -> Literal {
    let datatype = constant
        .datatype
        .as_deref()
        .and_then(|iri| iri.strip_prefix(XSD))
        .unwrap_or("");
    let lexical = match datatype {
        "integer" | "int" | "long" | "nonNegativeInteger" | "positiveInteger" => constant
            .lexical
            .parse::<i64>()
            .map_or_else(|_| constant.lexical.clone(), |n| (n + shift).to_string()),
        "decimal" | "double" | "float" => constant.lexical.parse::<f64>().map_or_else(
            |_| constant.lexical.clone(),
            |n| format!("{:?}", n + shift as f64),
        ),
        "date" | "dateTime" | "gYear" | "gYearMonth" => {
            let year: Option<i64> = constant.lexical.get(..4).and_then(|year| year.parse().ok());
            match year {
                Some(year) => format!("{:04}{}", year + shift, &constant.lexical[4..]),
                None => constant.lexical.clone(),
            }
        }
        _ if shift == 0 => constant.lexical.clone(),
        _ => format!(
            "{} {}",
            constant.lexical,
            if shift > 0 { "more" } else { "less" }
        ),
    };
    Literal {
        lexical,
        ..constant.clone()
    }
}
