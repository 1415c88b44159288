//! What the plans of the search answer.

use kg::term::{NodeId, RelId, Term};

use super::links::key_column;
use super::nodes::{is_event_row, is_key_of, is_nameless};
use super::plan::{Finish, Hop, PlanStep, Start, Way};
use super::search::{Search, Searched};
use super::state::{Found, State, explains_all};
use super::tabular::TablePlan;
use super::values::{has_one, is_value, says_nothing};
use super::vocabulary::split;
use super::words::{Explainer, is_part_of_name, names, strength};
use crate::call::{Call, ToolTable};
use crate::exec::{Relation, Session, Value};

impl Search<'_> {
    /// Records the plans that end at a state.
    pub(super) fn conclude(
        &mut self,
        state: &State,
        explainer: &mut Explainer<'_, '_>,
    ) -> Searched {
        let steps = !state.plan.steps.is_empty();
        if state.nodes.is_empty() {
            return Ok(());
        }
        if is_detour(state, explainer) {
            return Ok(());
        }
        // A list of a class that the question does not name is no answer.
        let named =
            matches!(&state.plan.start, Start::Class(class) if self.classes.contains(class));
        // A question with a word that the class does not explain asks for some of it, not for all.
        let whole = steps || explains_all(state, explainer);
        let new = whole && !says_nothing(explainer.session, state);
        // `the bookings of May`: rows without a name are an answer where the question names their class.
        let session = explainer.session;
        let event = || is_event_row(session, state.nodes[0]);
        let walks = |step: &PlanStep| matches!(step, PlanStep::Walk(_));
        let starts = steps && !state.plan.steps.iter().any(walks);
        // `red electric cars`: the word for the class need not be the one that is asked for, where that is no class. And
        // `diesels made before 2008` has no such word.
        let here = |code: RelId| {
            let with = |step: &PlanStep| matches!(step, PlanStep::Compare(Relation::Plain(own), ..) if *own == code);
            state.plan.steps.iter().any(with)
        };
        let coded = state.statements && steps && {
            let mut codes = session.kg().schema().row_codes.iter();
            codes.any(|&code| !session.kg().tails(state.nodes[0], code).is_empty() && !here(code))
        };
        let unsaid = coded && starts && !explainer.class_asked && event();
        let class_said =
            state.class_said || unsaid && (self.classes.is_empty() || is_named(state, explainer));
        // `the plates of the cars that she works on`
        let walked = coded && !starts;
        let row =
            class_said && event() || walked && (state.relation_said || is_named(state, explainer));
        // The names of the entrepreneurs are those of the people, and no column of their own.
        let rows = state.named.as_deref().unwrap_or(&state.nodes);
        let role =
            state.class_said && !explainer.is_called_so(state) && explainer.role_of(rows).is_some();
        if (steps || named) && new && (!state.statements || row) && !role {
            self.found.push(Found {
                answer: Value::Set(state.nodes.clone()),
                state: state.clone(),
            });
        }
        let table = explainer.session.options().tools == ToolTable::Extended;
        // Behind a relation, rows are what the relation passes.
        let said = self.classes.is_empty() || is_named(state, explainer);
        if table && explainer.asked.exists && (steps || named) && uses_all(state, explainer) {
            self.record(Found {
                answer: Value::Bool(true),
                state: state.finish(Finish::Exists),
            });
        }
        if table && starts && !row && event() && said && self.fits(state) {
            self.rows.push(state.clone());
        }
        // Things are counted, not their names, which they may share, and no numbers or truths.
        // Statements are counted unless the question names what else it counts: `how many clubs`, a class, or `how
        // many continents`, a column.
        let column = state.statements && explainer.asked.count && counts_a_column(state, explainer);
        let class = explainer.class_asked && !state.class_said;
        let other = (class || column) && !explainer.asked.times;
        let things = !state.statements || !other;
        let counts = things
            && (explainer.asked.times || !leaves_counted(state, explainer))
            && (state.named.is_none() || explainer.is_called_so(state))
            && !is_value(explainer.session, &state.nodes)
            && !has_one(state, explainer);
        if explainer.asked.count && (steps || named) && counts {
            self.found.push(Found {
                answer: Value::Int(state.nodes.len() as u64),
                state: state.finish(Finish::Count),
            });
        }
        let statement = explainer.asked.tells && state.plan.steps.is_empty();
        if (explainer.asked.judge || statement)
            && state.plan.steps.len() <= 2
            && state.nodes.len() <= self.limits.set
        {
            self.judge(state, explainer)?;
            self.judge_alone(state, explainer);
            self.judge_alike(state, explainer);
        }
        Ok(())
    }
}

/// The calls of a plan. Rows of tables are answered by the columns that name them, as SQL does: `which hotels are
/// in Portugal` asks for no keys. The paper's tools answer one column.
pub(super) fn calls(found: &Found, session: &Session<'_>) -> Vec<Call> {
    let plan = &found.state.plan;
    let columns = match &found.answer {
        Value::Set(rows) if plan.finish == Finish::Set => name_columns(rows, session),
        _ => Vec::new(),
    };
    let hops: Vec<Hop> = (columns.into_iter())
        .map(|relation| Hop {
            relation: Relation::Plain(relation),
            way: Way::Out,
        })
        .collect();
    match hops.as_slice() {
        [] => plan.calls(session),
        [name] => plan.and(PlanStep::Walk(*name)).calls(session),
        _ if session.options().tools == ToolTable::Extended => {
            TablePlan::of_columns(plan.clone(), &hops).calls(session)
        }
        _ => plan.calls(session),
    }
}

/// The columns that name the rows of a set, if its members are rows with keys such as `hotel/id=3`. Rows that have
/// no name are called by their key.
fn name_columns(rows: &[NodeId], session: &Session<'_>) -> Vec<RelId> {
    let kg = session.kg();
    let Some(&first) = rows.first() else {
        return Vec::new();
    };
    let Some(key) = key_column(kg, first).filter(|_| is_nameless(kg, first)) else {
        return Vec::new();
    };
    let has =
        |columns: &&Vec<RelId>| (columns.iter()).all(|&column| !kg.tails(first, column).is_empty());
    if let Some(names) = kg.schema().row_names.iter().find(has) {
        return names.clone();
    }
    let has_code = |column: &&RelId| !kg.tails(first, **column).is_empty();
    if let Some(&code) = kg.schema().row_codes.iter().find(has_code) {
        return vec![code];
    }
    let is_key = |column: &RelId| {
        split(&kg.name(column.node())).0 == key
            && (kg.tails(first, *column).first()).is_some_and(|&value| is_key_of(kg, first, value))
    };
    kg.out_relations(first)
        .into_iter()
        .find(is_key)
        .into_iter()
        .collect()
}

/// Whether a plan passes through statements of a Wikibase and asks nothing of them, where a direct relation says the same:
/// `p:P137` and `ps:P137`, not `wdt:P137`. Statements that hold no longer have no direct relation.
fn is_detour(state: &State, explainer: &Explainer<'_, '_>) -> bool {
    const FORMER: &str = "ever once former formerly previously used before past";
    let session = explainer.session;
    // The base of its IRI and the number of its property.
    let parts = |hop: &Hop, kind: &str| {
        let Relation::Plain(id) = hop.relation else {
            return None;
        };
        let Term::Iri(iri) = session.kg().term(id.node()) else {
            return None;
        };
        let (base, relation) = iri.split_once("/prop/")?;
        let number = relation.strip_prefix(kind)?;
        (!number.contains('/')).then(|| (base.to_owned(), number.to_owned()))
    };
    let through = |pair: &[PlanStep]| {
        let [PlanStep::Walk(first), PlanStep::Walk(second)] = pair else {
            return false;
        };
        let (outer, inner) = match (first.way, second.way) {
            (Way::Out, Way::Out) => (first, second),
            (Way::In, Way::In) => (second, first),
            _ => return false,
        };
        let Some((base, number)) = parts(inner, "statement/") else {
            return false;
        };
        let direct = || {
            let iri = format!("{base}/prop/direct/{number}");
            session.kg().find(&Term::Iri(iri)).is_some()
        };
        parts(outer, "").is_some_and(|outer| outer.0 == base && outer.1 == number) && direct()
    };
    let former = || {
        let asked = kg::words(session.plain_question());
        let said = |word: &String| FORMER.split(' ').any(|one| one == word);
        asked.iter().any(said)
    };
    state.plan.steps.windows(2).any(through) && !former()
}

/// Whether a plan uses all that is linked in the question.
fn uses_all(state: &State, explainer: &Explainer<'_, '_>) -> bool {
    let linked = explainer.session.linked();
    let mut entities = 0..linked.entities.len();
    entities.all(|at| state.tally.uses(at, explainer))
        && state.tally.values_unused(&linked.values) == 0
}

/// Whether the question names the class of a set.
fn is_named(state: &State, explainer: &mut Explainer<'_, '_>) -> bool {
    let classes = explainer.session.kg().types(state.nodes[0]);
    let words = 0..explainer.asked.words.len();
    classes.into_iter().any(|class| {
        let of = explainer.class(class);
        words.clone().any(|at| names(&of, Some(at)))
    })
}

/// Whether a plan begins at the class that the question counts and ends at other things: `how many players` counts no
/// rankings of theirs.
fn leaves_counted(state: &State, explainer: &mut Explainer<'_, '_>) -> bool {
    let Start::Class(class) = state.plan.start else {
        return false;
    };
    let walks = matches!(state.plan.steps.last(), Some(PlanStep::Walk(_)));
    let class = explainer.class(class);
    // Where a value stands between, as in `how many female players`, any word may be what is counted.
    let mut asked = match explainer.focus {
        Some(at) => at..at + 1,
        None => 0..class.len(),
    };
    walks && !state.class_said && asked.any(|at| names(&class, Some(at)))
}

/// Whether what the question counts is the name of a relation that a plan did not follow.
fn counts_a_column(state: &State, explainer: &Explainer<'_, '_>) -> bool {
    const SAID: f32 = 0.5;
    let mut known = explainer.hops.values();
    strength(&state.words, explainer.focus) < SAID
        && known.any(|one| is_part_of_name(&one.words, explainer.focus))
}
