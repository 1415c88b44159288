//! Trial runs of a program on its graph. They repair a program that cannot run, and leave out
//! constraints that do not change the result.

use std::collections::BTreeSet;

use kg::Kg;
use toolbox::call::{Call, Tool};
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions, Observation, Session, Value, run_program};
use toolbox::link::Linked;

use super::compile::{JudgementKind, OptionalConstraint};
use super::exact::Execution;
use super::program::{Draft, DraftSource, GoldProgram};
use crate::graph::{PatternGroup, QueryForm};
use crate::refusal::Refusal;

/// A program under trial on its graph.
pub(super) struct Trial<'a> {
    kg: &'a dyn Kg,
    source: DraftSource<'a>,
    exclude: ExcludeWhen,
    /// The best program so far.
    pub draft: Draft,
    /// The constraints that it leaves out.
    pub without: BTreeSet<OptionalConstraint>,
}

/// How the first runs of a program ended.
pub(super) enum TrialRun<'a> {
    /// The program runs, and its comparisons keep the members that the query keeps.
    Exact(Execution<'a>),
    /// No variant of the program runs on this graph.
    Fails,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        kg: &'a dyn Kg,
        source: DraftSource<'a>,
        exclude: ExcludeWhen,
    ) -> Result<Self, Refusal> {
        let without = BTreeSet::new();
        Ok(Self {
            kg,
            source,
            exclude,
            draft: source.draft(&without)?,
            without,
        })
    }

    /// Runs the program, repaired if necessary, and checks its comparisons against the query.
    pub(super) fn execute(&mut self) -> Result<TrialRun<'a>, Refusal> {
        let Some(run) = self.run(&self.draft.program).or_else(|| self.repair()) else {
            return Ok(TrialRun::Fails);
        };
        if run.satisfies(&self.draft.checks)? {
            return Ok(TrialRun::Exact(run));
        }
        // Dates are shortened as far as possible. If that matches too much, write them as the query
        // does.
        self.source.verbatim = true;
        let differs = Refusal::ComparisonDiffers;
        self.draft = self.try_draft(&self.without).ok_or(differs)?;
        let run = self.run(&self.draft.program).ok_or(differs)?;
        if run.satisfies(&self.draft.checks)? {
            Ok(TrialRun::Exact(run))
        } else {
            Err(differs)
        }
    }

    /// Runs a program without its relation lists.
    fn run(&self, program: &GoldProgram) -> Option<Execution<'a>> {
        let calls: Vec<Call> = program
            .calls
            .iter()
            .filter(|call| call.tool != Tool::GetRelation)
            .cloned()
            .collect();
        // Verification excludes entities from answers. Exclusions at every step also change the
        // sets in between, so they apply here.
        let nodes = program
            .exclude
            .iter()
            .filter(|_| self.exclude == ExcludeWhen::EveryStep)
            .filter_map(|term| self.kg.find(term));
        let exclude = Exclude {
            nodes: nodes.collect(),
            when: self.exclude,
        };
        let options = ExecOptions {
            max_steps: calls.len(),
            lists: false,
            exclude,
            ..ExecOptions::default()
        };
        let mut session = Session::new(self.kg, "", Linked::default(), &[], options).ok()?;
        let value = run_program(&mut session, &calls).ok()?;
        let assigned = session
            .steps()
            .iter()
            .filter_map(|step| match &step.observation {
                Observation::Value(value) => Some(value.clone()),
                Observation::Relations(_) | Observation::Answer(_) => None,
            });
        Some(Execution {
            kg: self.kg,
            value,
            variables: assigned.collect(),
        })
    }

    fn try_draft(&self, without: &BTreeSet<OptionalConstraint>) -> Option<Draft> {
        self.source.draft(without).ok()
    }

    /// Repairs a program that cannot run: drops an alternative that leads nowhere on this graph, or
    /// an interval that no node has. The program means the same without it.
    fn repair(&mut self) -> Option<Execution<'a>> {
        if self.source.graph.form == QueryForm::Ask
            && let Some(run) = self.judge_otherwise()
        {
            return Some(run);
        }
        let mut idle = Vec::new();
        dispensable(&self.source.graph.group, &mut idle);
        idle.into_iter()
            .find_map(|constraint| self.adopt(BTreeSet::from([constraint]), |_, _| true))
    }

    /// Uses another edge for the `judge` of an ASK, because `judge` needs a single value on its
    /// right side.
    fn judge_otherwise(&mut self) -> Option<Execution<'a>> {
        let edges = &self.source.graph.group.edges;
        let mut fewer = BTreeSet::new();
        for kind in [JudgementKind::Compared, JudgementKind::Within] {
            for edge in edges.iter().rev() {
                fewer.insert(OptionalConstraint::Judgement(edge.order, kind));
                let run = self.adopt(fewer.clone(), |draft, run| {
                    run.satisfies(&draft.checks) == Ok(true)
                });
                if run.is_some() {
                    return run;
                }
            }
        }
        None
    }

    /// Takes over the program without these constraints if it runs and `accept` agrees.
    fn adopt(
        &mut self,
        without: BTreeSet<OptionalConstraint>,
        accept: impl Fn(&Draft, &Execution<'_>) -> bool,
    ) -> Option<Execution<'a>> {
        let draft = self.try_draft(&without)?;
        let run = self.run(&draft.program).filter(|run| accept(&draft, run))?;
        (self.draft, self.without) = (draft, without);
        Some(run)
    }

    /// The shortest program found that has the same result.
    pub(super) fn shortest(&self, result: &Value) -> GoldProgram {
        let shorter = |program: &GoldProgram, best: &GoldProgram| {
            program.calls.len() < best.calls.len()
                && self.run(program).is_some_and(|run| run.value == *result)
        };
        // Often all can be left out at once. Leaving one out can make more constraints optional.
        let mut all = self.without.clone();
        all.extend(self.draft.optional.iter().cloned());
        if all.len() == self.without.len() {
            return self.draft.program.clone();
        }
        while let Some(draft) = self.try_draft(&all) {
            let before = all.len();
            all.extend(draft.optional);
            if all.len() == before {
                if shorter(&draft.program, &self.draft.program) {
                    return draft.program;
                }
                break;
            }
        }
        self.shorten_one_by_one(&shorter)
    }

    /// Leaves out one constraint after another, each for good if the result stays the same.
    fn shorten_one_by_one(
        &self,
        shorter: &dyn Fn(&GoldProgram, &GoldProgram) -> bool,
    ) -> GoldProgram {
        let mut best = self.draft.program.clone();
        let (mut without, mut tried) = (self.without.clone(), self.without.clone());
        while let Some(draft) = self.try_draft(&without) {
            let next = draft.optional.into_iter().find(|one| !tried.contains(one));
            let Some(constraint) = next else { break };
            tried.insert(constraint.clone());
            without.insert(constraint.clone());
            match self.try_draft(&without) {
                Some(draft) if shorter(&draft.program, &best) => best = draft.program,
                _ => {
                    without.remove(&constraint);
                }
            }
        }
        best
    }
}

/// The alternatives and intervals of a group.
fn dispensable(group: &PatternGroup, into: &mut Vec<OptionalConstraint>) {
    for edge in group.edges.iter().filter(|edge| edge.steps.len() > 1) {
        into.extend(
            edge.steps
                .iter()
                .map(|step| OptionalConstraint::Step(edge.order, step.clone())),
        );
    }
    into.extend(
        group
            .intervals
            .iter()
            .filter_map(|interval| interval.node.var())
            .map(OptionalConstraint::Interval),
    );
    for branch in group.unions.iter().flatten() {
        into.extend(
            branch
                .edges
                .first()
                .map(|edge| OptionalConstraint::Branch(edge.order)),
        );
        dispensable(branch, into);
    }
}
