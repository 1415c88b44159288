//! Programs as queries: for random programs on random graphs, the query has the program's answer,
//! and the program that the query converts to has it too.

use std::path::PathBuf;

use crate::frozen::{Dice, Frozen};
use crate::reference;
use kg::term::{Literal, NodeId, Term};
use kg::value::{Extreme, Op};
use kg::{FrozenKg, Kg, LoadOptions, parse_query};
use toolbox::call::{Arg, Call, Tool, parse_program};
use toolbox::exec::{ExecOptions, Observation, Relation, Session};
use toolbox::link::Linked;

const HEAD: &str = "PREFIX : <http://ex.org/ns/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> ";

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A random program that runs: calls are sampled, and those that fail are left out.
fn program(kg: &FrozenKg, dice: &mut Dice) -> Vec<Call> {
    let options = ExecOptions {
        max_steps: 200,
        ..ExecOptions::default()
    };
    let mut session = Session::new(kg, "", Linked::default(), &[], options).unwrap();
    let mut calls: Vec<Call> = Vec::new();
    let triples: Vec<_> = kg.triples().collect();
    let mut next = 0;
    for _ in 0..2 + dice.below(7) {
        let &(subject, _, object) = dice.pick(&triples).unwrap();
        let node = if dice.percent(50) { subject } else { object };
        let set = if next > 0 && dice.percent(75) {
            Arg::Var(dice.below(next as usize) as u32)
        } else {
            Arg::Name(kg.name(node))
        };
        let call = match dice.below(10) {
            0..4 => walk(&mut session, kg, dice, &set, next),
            4 => dice.pick(kg.classes()).map(|&class| {
                Call::new(Tool::GetEntityByType, vec![Arg::Name(kg.name(class))], next)
            }),
            5 | 6 => constraint(
                &mut session,
                kg,
                dice,
                &set,
                next,
                Tool::GetEntityByConstraint,
            ),
            7 => relation(&mut session, kg, dice, &set, true).map(|relation| {
                let extreme = if dice.percent(50) {
                    Extreme::Max
                } else {
                    Extreme::Min
                };
                Call::new(
                    Tool::GetEntityByConstraint,
                    vec![set, relation, Arg::Extreme(extreme)],
                    next,
                )
            }),
            other if next > 1 => {
                let tool = if other == 8 {
                    Tool::Intersect
                } else {
                    Tool::Union
                };
                let others =
                    (0..1 + dice.below(2)).map(|_| Arg::Var(dice.below(next as usize) as u32));
                Some(Call::new(
                    tool,
                    std::iter::once(set).chain(others).collect(),
                    next,
                ))
            }
            _ => None,
        };
        if let Some(call) = call
            && session.run(&call).is_ok()
        {
            calls.push(call);
            next += 1;
        }
    }
    let Some(last) = next.checked_sub(1) else {
        return Vec::new();
    };
    let mut answer = Arg::Var(last);
    let closing = match dice.below(6) {
        0 => Some(Call::new(Tool::Count, vec![answer.clone()], next)),
        1 => constraint(&mut session, kg, dice, &answer, next, Tool::Judge),
        _ => None,
    };
    if let Some(call) = closing
        && session.run(&call).is_ok()
    {
        calls.push(call);
        answer = Arg::Var(next);
    }
    calls.push(Call::new(Tool::End, vec![answer], 0));
    calls
}

/// A relation that leads out of a set or into it.
fn relation(
    session: &mut Session<'_>,
    kg: &FrozenKg,
    dice: &mut Dice,
    set: &Arg,
    out: bool,
) -> Option<Arg> {
    let step = session
        .run(&Call::new(Tool::GetRelation, vec![set.clone()], 0))
        .ok()?;
    let Observation::Relations(shown) = &step.observation else {
        return None;
    };
    let relation = *dice.pick(if out { &shown.out } else { &shown.incoming })?;
    let name = match relation {
        Relation::Plain(id) => kg.name(id.node()),
        Relation::Interval(index) => kg.schema().intervals[index].name.clone(),
    };
    Some(Arg::Name(name))
}

fn walk(
    session: &mut Session<'_>,
    kg: &FrozenKg,
    dice: &mut Dice,
    set: &Arg,
    next: u32,
) -> Option<Call> {
    let out = dice.percent(55);
    let name = relation(session, kg, dice, set, out)?;
    let (tool, name) = match (out, dice.percent(10)) {
        (true, false) => (Tool::GetTailEntity, name),
        (false, false) => (Tool::GetHeadEntity, name),
        (true, true) => (Tool::GetHeadEntity, Arg::Inverse(Box::new(name))),
        (false, true) => (Tool::GetTailEntity, Arg::Inverse(Box::new(name))),
    };
    Some(Call::new(tool, vec![set.clone(), name], next))
}

fn constraint(
    session: &mut Session<'_>,
    kg: &FrozenKg,
    dice: &mut Dice,
    set: &Arg,
    next: u32,
    tool: Tool,
) -> Option<Call> {
    let name = relation(session, kg, dice, set, true)?;
    let Arg::Name(text) = &name else { return None };
    let tails: Vec<NodeId> = match kg.by_name(text) {
        Some(node) => kg
            .triples()
            .filter(|(_, relation, _)| relation.node() == node)
            .map(|(_, _, tail)| tail)
            .collect(),
        None => kg
            .schema()
            .intervals
            .iter()
            .flat_map(|i| {
                kg.triples()
                    .filter(|t| t.1 == i.from)
                    .map(|t| t.2)
                    .collect::<Vec<_>>()
            })
            .collect(),
    };
    let tail = *dice.pick(&tails)?;
    let (value, ops) = match kg.term(tail) {
        Term::Literal(literal) => {
            let lexical = literal.lexical.clone();
            let value = match dice.below(4) {
                0 => literal,
                1 if lexical.len() >= 10 && lexical.as_bytes()[4] == b'-' => {
                    Literal::plain(&lexical[..4])
                }
                _ => Literal::plain(lexical),
            };
            (Arg::Literal(value), 6)
        }
        _ => (Arg::Name(kg.name(tail)), 2),
    };
    let op = Op::ALL[dice.below(ops)];
    Some(Call::new(
        tool,
        vec![set.clone(), name, Arg::Op(op), value],
        next,
    ))
}

/// Rules A.2: programs and their queries agree.
#[test]
fn random_programs_and_their_queries_agree() {
    let text = std::fs::read_to_string(data("queries.txt")).unwrap();
    let mut graphs =
        vec![FrozenKg::load(&[data("toy.ttl")], &LoadOptions::default(), &|_| {}).unwrap()];
    for (i, line) in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .enumerate()
    {
        let query = line.rsplit('\t').next().unwrap();
        let frozen = Frozen::of(&parse_query(&format!("{HEAD}{query}")).unwrap());
        graphs.extend((0..2).map(|seed| frozen.graph(i as u64 * 7 + seed)));
    }
    let (mut programs, mut inexpressible, mut again, mut fails, mut wrong) =
        (0, 0, 0, 0, Vec::new());
    for (i, kg) in graphs.iter().enumerate() {
        let rounds = if i == 0 { 400 } else { 12 };
        for round in 0..rounds {
            let calls = program(kg, &mut Dice((i * 10_007 + round) as u64));
            if calls.is_empty() {
                continue;
            }
            let Ok(answer) = reference::run_calls(kg, &calls, &[]) else {
                continue;
            };
            programs += 1;
            let trip = reference::round_trip(kg, &calls, &[], &answer);
            if let Some(why) = trip.inexpressible {
                inexpressible += 1;
                if std::env::var_os("SHOW_INEXPRESSIBLE").is_some() {
                    eprintln!("{why}");
                }
            }
            again += usize::from(trip.converted);
            fails += usize::from(trip.fails);
            wrong.extend(
                trip.wrong
                    .map(|how| format!("{how}\n{}", reference::triples(kg))),
            );
        }
    }
    eprintln!(
        "{programs} programs, {inexpressible} inexpressible, {again} convert again, {fails} to programs that fail"
    );
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong
            .iter()
            .take(3)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n---\n")
    );
    assert!(
        programs > 1_500
            && inexpressible * 20 < programs
            && again * 2 > programs
            && fails * 50 < programs,
        "{programs}, {inexpressible} inexpressible, {again} again"
    );
}

#[test]
fn worked_shapes_survive_the_round_trip() {
    let kg = FrozenKg::load(&[data("toy.ttl")], &LoadOptions::default(), &|_| {}).unwrap();
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&std::fs::read_to_string(data("shapes.json")).unwrap()).unwrap();
    assert_eq!(rows.len(), 24);
    let mut again = Vec::new();
    for row in rows {
        let lines: Vec<&str> = row["program"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().unwrap())
            .collect();
        let calls = parse_program(&lines.join(";\n")).unwrap();
        let exclude: Vec<Term> = row["exclude"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|name| Term::Iri(format!("http://ex.org/ns/{}", name.as_str().unwrap())))
            .collect();
        let answer = reference::run_calls(&kg, &calls, &exclude).unwrap();
        let trip = reference::round_trip(&kg, &calls, &exclude, &answer);
        assert!(
            trip.inexpressible.is_none() && trip.wrong.is_none(),
            "{}: {:?} {:?}",
            row["id"],
            trip.inexpressible,
            trip.wrong
        );
        again.extend(trip.converted.then(|| row["id"].to_string()));
    }
    // S13 and S14 walk out and back. Their queries contain the way out twice, which does not
    // convert again.
    assert_eq!(again.len(), 22, "{again:?}");
}

#[test]
fn inexpressible_programs_are_refused() {
    let kg = FrozenKg::load(&[data("toy.ttl")], &LoadOptions::default(), &|_| {}).unwrap();
    let query_of = |program: &str| {
        datagen::to_sparql::program_to_query(&kg, &parse_program(program).unwrap(), &[])
            .map(|query| query.to_string())
    };
    let words = query_of("v0 = get_candidate_entity(\"lions\"); ans = end(v0)")
        .unwrap_err()
        .to_string();
    assert!(
        words.contains("get_candidate_entity") && words.contains("wording of the question"),
        "{words}"
    );
    let fails = query_of("v0 = get_tail_entity(m.lions, no.such); ans = end(v0)")
        .unwrap_err()
        .to_string();
    assert!(fails.starts_with("step 1 of the program fails"), "{fails}");
    let value =
        query_of("v0 = get_tail_entity(m.lions, sports.team.city); v1 = count(v0); ans = end(v1)")
            .unwrap();
    assert!(value.contains("COUNT(DISTINCT ?x)"), "{value}");
}
