//! What a session offers and shows after each call stays as it is: lists, live names, schemas, grammars, answers and
//! evidence of random programs, which the acceptor allows.

use std::fmt::Write as _;

use common::acceptor::Acceptor;
use common::rng::Rng;
use kg::{FrozenKg, Kg};
use toolbox::answer::Answer;
use toolbox::call::{Arg, CallAcceptor, ToolTable, live_schema, parse_call};
use toolbox::exec::{ExecOptions, Naming, Session};
use toolbox::link::Linked;

use crate::support::graph_of;
use crate::tables::GRAPH;

/// A fingerprint for every program, one a line; `BLESS=1` writes them anew.
const SEEN: &str = include_str!("../data/states.txt");
/// Programs for each graph and table of tools.
const PROGRAMS: usize = 16;
const NAMINGS: [Naming; 4] = [
    Naming::Handles,
    Naming::Mixed,
    Naming::Mentions,
    Naming::Names,
];

/// Everything that the next call may name, and the relations of the newest set.
fn offered(session: &Session<'_>, naming: Naming, text: &mut String) {
    let live = session.live(naming);
    writeln!(text, "{live:?}\n{}", live_schema(&live)).unwrap();
    let acceptor = CallAcceptor::new(live);
    writeln!(text, "{}", toolbox::gbnf::of_calls(&acceptor)).unwrap();
    if let Some(newest) = session.variables().checked_sub(1) {
        let set = Arg::Var(u32::try_from(newest).unwrap());
        for relation in session.ranking(&set).unwrap_or_default() {
            writeln!(text, "{:?}", relation.candidate).unwrap();
        }
        writeln!(text, "{:?}", session.path(&set)).unwrap();
    }
}

/// A random program, and all that its session offers on the way.
fn story(kg: &FrozenKg, question: &str, topics: &[&str], tools: ToolTable, seed: usize) -> String {
    let options = ExecOptions {
        tools,
        ..ExecOptions::default()
    };
    let topics: Vec<_> = (topics.iter())
        .map(|topic| kg.by_name(topic).unwrap())
        .collect();
    let linked = Linked::new(kg, question, &topics);
    let mut session = Session::new(kg, question, linked, &[], options).unwrap();
    let naming = NAMINGS[seed % NAMINGS.len()];
    let mut rng = Rng::new(seed as u64);
    let mut text = String::new();
    while session.answer().is_none() {
        offered(&session, naming, &mut text);
        let acceptor = CallAcceptor::new(session.live(Naming::Mixed));
        let (mut state, mut call) = (acceptor.start(), String::new());
        while !acceptor.may_end(&state) {
            let ways = acceptor.continuations(&state);
            let way = &ways[rng.below(ways.len())];
            state = (way.bytes()).fold(state, |state, byte| acceptor.step(&state, byte).unwrap());
            call.push_str(way);
        }
        match session.run(&parse_call(&call).unwrap()) {
            Ok(step) => writeln!(text, "{call}\n{:?} {:?}", step.observation, step.walked).unwrap(),
            Err(error) => writeln!(text, "{call}\n{error}").unwrap(),
        }
    }
    writeln!(text, "{:?}", Answer::of(&session)).unwrap();
    text
}

#[test]
fn sessions_offer_and_show_what_they_did() {
    let players = graph_of(include_str!("../data/players.ttl"));
    let shops = graph_of(GRAPH);
    let cases = [
        (
            &players,
            "which club did Ada play for in 2008",
            &["ada"][..],
        ),
        (
            &players,
            "is the club of Bo larger than the Reds or the Blues",
            &["bo", "reds", "blues"],
        ),
        (&shops, "how many persons above 20 work for each shop", &[]),
        (
            &shops,
            "the city of \"Oslo\" and the age of ann after 1985",
            &["ann"],
        ),
    ];
    let mut found = Vec::new();
    for (at, (kg, question, topics)) in cases.into_iter().enumerate() {
        for tools in [ToolTable::Paper, ToolTable::Extended] {
            for seed in 0..PROGRAMS {
                let text = story(kg, question, topics, tools, seed);
                found.push((
                    format!(
                        "{at} {tools:?} {seed} {:016x}",
                        common::hash::quick(text.bytes())
                    ),
                    text,
                ));
            }
        }
    }
    if std::env::var_os("BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/states.txt");
        let lines = found.iter().map(|(line, _)| format!("{line}\n"));
        std::fs::write(path, lines.collect::<String>()).unwrap();
        return;
    }
    assert_eq!(SEEN.lines().count(), found.len());
    for (was, (line, text)) in SEEN.lines().zip(&found) {
        assert_eq!(was, line, "{text}");
    }
}
