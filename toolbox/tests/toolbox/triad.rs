//! Triad without a model: printed templates parse back, combinations come best first, filled
//! queries give the expected answers, their evidence alone gives the same, and a scripted
//! conversation passes through all phases.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use kg::value::{Extreme, Op};
use kg::{FrozenKg, Kg};
use proptest::prelude::*;
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions, Relation, Session, Value};
use toolbox::link::Linked;
use toolbox::triad::{
    AnswerType, Bounds, End, Ended, Filter, Operand, Options, PhraseLink, QueryTemplate, SubTask,
    TriadFailure, Tried, TriplePattern, Try, fill, grammar, parse_triples, print_triples, products,
    solve,
};

use crate::support::graph_of;

const GRAPH: &str = include_str!("../data/players.ttl");

fn graph() -> FrozenKg {
    graph_of(GRAPH)
}

/// A question with its entities, triples, links and expected answer, by name.
struct Case {
    question: &'static str,
    entities: &'static [&'static str],
    triples: &'static str,
    /// One per triple that needs a relation.
    links: &'static [(&'static str, bool)],
    template: &'static str,
    gives: &'static str,
}

const CASES: &[Case] = &[
    Case {
        question: "for which clubs did Ada play",
        entities: &["ada"],
        triples: "<e0, stints, ?a> <?a, club, ?x>",
        links: &[("player.stints", true), ("stint.club", true)],
        template: "select ?x where t0 t1",
        gives: "blues greens reds",
    },
    Case {
        question: "which clubs of Port have more than 40000 seats",
        entities: &["port"],
        triples: "<e0, city, ?x> <?x, seats, ?n>",
        links: &[("club.city", false), ("club.seats", true)],
        template: "select ?x where t0 t1 filter ?n > x0",
        gives: "reds",
    },
    Case {
        question: "which club of Ada has the most seats",
        entities: &["ada"],
        triples: "<e0, stints, ?a> <?a, club, ?x> <?x, seats, ?n>",
        links: &[
            ("player.stints", true),
            ("stint.club", true),
            ("club.seats", true),
        ],
        template: "select ?x where t0 t1 t2 max ?n",
        gives: "blues",
    },
    Case {
        question: "for which club did Ada play in 2005",
        entities: &["ada"],
        triples: "<e0, stints, ?a> <?a, from to, ?n> <?a, club, ?x>",
        links: &[
            ("player.stints", true),
            ("stint.from_to", true),
            ("stint.club", true),
        ],
        template: "select ?x where t0 t1 t2 filter ?n = x0",
        gives: "reds",
    },
    Case {
        question: "for which club did Ada play in 1999",
        entities: &["ada"],
        triples: "<e0, stints, ?a> <?a, from to, ?n> <?a, club, ?x>",
        links: &[
            ("player.stints", true),
            ("stint.from_to", true),
            ("stint.club", true),
        ],
        template: "select ?x where t0 t1 t2 filter ?n = x0",
        gives: "greens",
    },
    Case {
        question: "how many clubs are there",
        entities: &[],
        triples: "<?x, a, c0>",
        links: &[],
        template: "count ?x where t0",
        gives: "3",
    },
    Case {
        question: "is Reds in Hill",
        entities: &["reds", "hill"],
        triples: "<e0, city, e1>",
        links: &[("club.city", true)],
        template: "ask where t0",
        gives: "false",
    },
    Case {
        question: "with which cities is Hill twinned",
        entities: &["hill"],
        triples: "<e0, twin, ?x> <e0, twin of, ?x>",
        links: &[("city.twin", true), ("city.twin", false)],
        template: "select ?x where t0 or t1",
        gives: "port",
    },
    Case {
        question: "Reds against Blues: which club has more seats",
        entities: &["reds", "blues"],
        triples: "<?x, is, e0> <?x, is, e1> <?x, seats, ?n>",
        links: &[("club.seats", true)],
        template: "select ?x where t0 t2 or t1 t2 max ?n",
        gives: "blues",
    },
    Case {
        question: "where did both Ada and Bo play",
        entities: &["ada", "bo"],
        triples: "<e0, stints, ?a> <?a, club, ?x> <e1, stints, ?b> <?b, club, ?x>",
        links: &[
            ("player.stints", true),
            ("stint.club", true),
            ("player.stints", true),
            ("stint.club", true),
        ],
        template: "select ?x where t0 t1 t2 t3",
        gives: "blues",
    },
];

fn session<'g>(
    kg: &'g FrozenKg,
    question: &str,
    entities: &[&str],
    options: ExecOptions,
) -> Session<'g> {
    let nodes: Vec<_> = entities
        .iter()
        .map(|name| kg.by_name(name).unwrap())
        .collect();
    let club: Vec<_> = kg.by_name("club").into_iter().collect();
    Session::new(
        kg,
        question,
        Linked::new(kg, question, &nodes),
        &club,
        options,
    )
    .unwrap()
}

fn relation(kg: &FrozenKg, name: &str) -> Option<Relation> {
    let interval = kg
        .schema()
        .intervals
        .iter()
        .position(|interval| interval.name == name)
        .map(Relation::Interval);
    interval.or_else(|| {
        kg.by_name(name)
            .map(|node| Relation::Plain(node.relation()))
    })
}

fn bounds() -> Bounds {
    Bounds {
        until: Instant::now() + Duration::from_secs(10),
        rows: 10_000,
    }
}

fn solved(kg: &FrozenKg, case: &Case, options: ExecOptions) -> (String, Vec<[kg::term::Term; 3]>) {
    let session = session(kg, case.question, case.entities, options);
    // `c0` in the case refers to the class `club`.
    let club = session
        .classes()
        .iter()
        .position(|&class| kg.name(class) == "club")
        .unwrap_or(usize::MAX);
    let triples = parse_triples(&case.triples.replace("c0", &format!("c{club}"))).unwrap();
    let template: QueryTemplate = case.template.parse().unwrap();
    let mut given = case.links.iter();
    let links: Vec<Option<PhraseLink>> = triples
        .iter()
        .map(|triple| {
            let &(name, out) = if triple.is_given() {
                return None;
            } else {
                given.next()?
            };
            Some(PhraseLink {
                relation: relation(kg, name)?,
                out,
            })
        })
        .collect();
    let query = fill(
        &template,
        &triples,
        &links,
        &session.linked().entities,
        &session,
    )
    .unwrap();
    let solved = solve(&session, &query, bounds()).unwrap();
    let text = match &solved.value {
        Value::Set(set) => set
            .iter()
            .map(|&node| kg.name(node))
            .collect::<Vec<_>>()
            .join(" "),
        Value::Int(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Table(_) => "a table".to_owned(),
    };
    (
        text,
        solved
            .evidence
            .iter()
            .map(|&(s, p, o)| [kg.term(s), kg.term(p.node()), kg.term(o)])
            .collect(),
    )
}

#[test]
fn filled_templates_give_the_expected_answers_and_so_does_their_evidence() {
    let kg = graph();
    for case in CASES {
        let (text, evidence) = solved(&kg, case, ExecOptions::default());
        assert_eq!(text, case.gives, "{}", case.question);
        assert!(!evidence.is_empty(), "{}", case.question);
        // A negative answer has no evidence, and one bound alone does not form an interval.
        if case.gives == "false" || case.question.ends_with("1999") {
            continue;
        }
        let alone = FrozenKg::from_triples(evidence);
        // Labels are not evidence, but the handles refer to the same nodes.
        let again = solved(&alone, case, ExecOptions::default()).0;
        assert_eq!(again, case.gives, "{} on its evidence alone", case.question);
    }
}

#[test]
fn excluded_entities_and_hidden_relations_have_no_effect_on_answers() {
    let kg = graph();
    let node = |name: &str| kg.by_name(name).unwrap();
    let exclude = Exclude {
        nodes: vec![node("reds")],
        when: ExcludeWhen::Answer,
    };
    assert_eq!(
        solved(
            &kg,
            &CASES[0],
            ExecOptions {
                exclude,
                ..ExecOptions::default()
            }
        )
        .0,
        "blues greens"
    );
    let without = vec![node("stint.club").relation()];
    assert_eq!(
        solved(
            &kg,
            &CASES[0],
            ExecOptions {
                without,
                ..ExecOptions::default()
            }
        )
        .0,
        ""
    );
}

#[test]
fn rows_and_time_are_bounded() {
    let kg = graph();
    let session = session(
        &kg,
        "for which clubs did Ada play",
        &["ada"],
        ExecOptions::default(),
    );
    let triples = parse_triples("<e0, stints, ?a> <?a, club, ?x>").unwrap();
    let links: Vec<_> = ["player.stints", "stint.club"]
        .iter()
        .map(|name| {
            Some(PhraseLink {
                relation: relation(&kg, name).unwrap(),
                out: true,
            })
        })
        .collect();
    let template: QueryTemplate = "select ?x where t0 t1".parse().unwrap();
    let query = fill(
        &template,
        &triples,
        &links,
        &session.linked().entities,
        &session,
    )
    .unwrap();
    assert!(
        solve(
            &session,
            &query,
            Bounds {
                rows: 2,
                ..bounds()
            }
        )
        .is_err()
    );
    assert!(
        solve(
            &session,
            &query,
            Bounds {
                until: Instant::now() - Duration::from_secs(1),
                ..bounds()
            }
        )
        .is_err()
    );
}

/// Answers every request from a script and checks it against the grammar.
fn converse(kg: &FrozenKg, options: &Options, script: &[(SubTask, &str)]) -> (Ended, Vec<String>) {
    let session = session(
        kg,
        "which of the clubs of Ada has the most seats",
        &["ada"],
        ExecOptions::default(),
    );
    let entities = session
        .linked()
        .entities
        .iter()
        .map(|&node| vec![node])
        .collect();
    let mut attempt = Try::new(
        &session,
        options,
        entities,
        Duration::from_secs(10),
        &[],
        Tried::default(),
    );
    let mut left = script.iter();
    while let Some(request) = attempt.request() {
        let (task, text) = left
            .next()
            .unwrap_or_else(|| panic!("{:?} was not expected", request.task));
        assert_eq!(request.task, *task);
        assert!(
            request.grammar.matches(text) || text.starts_with('!'),
            "{text} is not in the grammar of {task:?}"
        );
        attempt.take(text.trim_start_matches('!')).unwrap();
    }
    assert!(left.next().is_none());
    let texts = attempt
        .turns()
        .iter()
        .map(common::transcript::Turn::text)
        .collect();
    (attempt.end().unwrap().clone(), texts)
}

const TRIPLES: &str = "<e0, stints, ?a> <?a, club, ?x> <?x, seats, ?n>";

/// Rules C.1, C.2 and C.4: triples, answer type, relation selection.
#[test]
fn a_scripted_conversation_reaches_the_answer() {
    let kg = graph();
    let options = Options {
        relations: 1,
        ..Options::default()
    };
    let script = [
        (SubTask::Triples, TRIPLES),
        (SubTask::Type, "<select>"),
        (SubTask::Relations(0), "out player.stints"),
        (SubTask::Relations(1), "out stint.club"),
        (SubTask::Relations(2), "out club.seats"),
        (SubTask::Template, "select ?x where t0 t1 t2 max ?n"),
        (SubTask::Answer, "graph"),
    ];
    let (end, turns) = converse(&kg, &options, &script);
    let Ended::Answer(_, solved) = end else {
        panic!("{end:?}")
    };
    assert_eq!(
        solved.value,
        Value::Set(vec![kg.by_name("blues").unwrap()].into())
    );
    assert!(turns[1].contains("e0 = ada [Ada]"), "{}", turns[1]);
    assert!(
        turns
            .iter()
            .any(|turn| turn.starts_with("D relations t1\nout") && turn.contains(" stint.club")),
        "{turns:?}"
    );
}

/// Rules C.5: filling and query selection.
#[test]
fn with_two_candidates_each_the_products_run_and_a_query_is_chosen() {
    let kg = graph();
    let script = [
        (SubTask::Triples, "<e0, stints, ?a> <?a, club, ?x>"),
        (SubTask::Type, "<select>"),
        (SubTask::Relations(0), "out player.stints"),
        (SubTask::Relations(1), "out stint.role, out stint.club"),
        (SubTask::Template, "select ?x where t0 t1"),
        (SubTask::Query, "q0"),
        (SubTask::Answer, "graph"),
    ];
    let (end, _) = converse(&kg, &Options::default(), &script);
    let Ended::Answer(_, solved) = end else {
        panic!("{end:?}")
    };
    let Value::Set(clubs) = solved.value else {
        panic!()
    };
    assert_eq!(clubs.len(), 3);
}

#[test]
fn of_two_entities_the_one_with_more_is_found() {
    let kg = graph();
    let session = session(
        &kg,
        "Reds against Blues: which club has more seats",
        &["reds", "blues"],
        ExecOptions::default(),
    );
    let options = Options {
        relations: 1,
        ..Options::default()
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
        Duration::from_secs(10),
        &[],
        Tried::default(),
    );
    let answers = [
        "<?x, is, e0> <?x, is, e1> <?x, seats, ?n>",
        "<select>",
        "out club.seats",
        "select ?x where t0 t2 or t1 t2 max ?n",
        "graph",
    ];
    for text in answers {
        let request = attempt.request().unwrap();
        assert!(request.grammar.matches(text), "{text}");
        attempt.take(text).unwrap();
    }
    let Some(Ended::Answer(_, solved)) = attempt.end() else {
        panic!("{:?}", attempt.end())
    };
    assert_eq!(
        solved.value,
        Value::Set(vec![kg.by_name("blues").unwrap()].into())
    );
}

#[test]
fn every_template_that_may_be_written_can_be_filled() {
    let triples = parse_triples("<e0, stints, ?a> <?a, club, ?x> <?x, seats, ?n>").unwrap();
    let phrase = grammar::template(AnswerType::Select, &triples, &[true, true, true], 1, 1);
    for text in [
        "select ?x where t1",
        "select ?x where t0 t1 t2 max ?n",
        "select ?a where t0 or t1 t2",
        "select ?n where t0 t2 filter ?a = e0",
    ] {
        assert!(phrase.matches(text), "{text}");
        let template: QueryTemplate = text.parse().unwrap();
        assert_eq!(template.check(&triples, 1, 1), Ok(()), "{text}");
    }
    for text in [
        "select ?x where t0",
        "select ?n where t0 t1",
        "select ?x where t1 or t0",
        "select ?x where t2 t1",
        "select ?y where t1",
        "ask where t0",
    ] {
        assert!(!phrase.matches(text), "{text}");
    }
    let closed = parse_triples("<e0, club, e1>").unwrap();
    assert!(
        !grammar::answer_type(&closed).matches("<select>")
            && grammar::answer_type(&closed).matches("<yes or no>")
    );
    assert!(grammar::answer_type(&triples).matches("<select>"));
    let linked = grammar::template(AnswerType::Ask, &triples, &[true, false, true], 1, 0);
    assert!(linked.matches("ask where t0 t2") && !linked.matches("ask where t0 t1"));
}

#[test]
fn invalid_responses_end_the_attempt_with_their_cause() {
    let kg = graph();
    let options = Options {
        relations: 1,
        ..Options::default()
    };
    let head = [
        (SubTask::Triples, "<e0, stints, ?a> <?a, club, ?x>"),
        (SubTask::Type, "<select>"),
    ];
    let cause =
        |rest: &[(SubTask, &str)]| match converse(&kg, &options, &[&head[..], rest].concat()).0 {
            Ended::Failed(failure) => failure.cause(),
            Ended::Answer(..) => "none",
        };
    assert_eq!(cause(&[(SubTask::Relations(0), "none")]), "no relation");
    assert_eq!(
        cause(&[(SubTask::Relations(0), "!out stint.club")]),
        "syntax"
    );
    let linked = [
        (SubTask::Relations(0), "out player.stints"),
        (SubTask::Relations(1), "out stint.club"),
    ];
    assert_eq!(
        cause(&[&linked[..], &[(SubTask::Template, "!select ?y where t0")]].concat()),
        "syntax"
    );
    assert_eq!(
        cause(
            &[
                &linked[..],
                &[(SubTask::Template, "select ?x where t0 t1 filter ?x = e0")]
            ]
            .concat()
        ),
        "no solution"
    );
    assert_eq!(
        cause(
            &[
                &linked[..],
                &[
                    (SubTask::Template, "select ?x where t0 t1"),
                    (SubTask::Answer, "none")
                ]
            ]
            .concat()
        ),
        "declined"
    );
}

#[test]
fn an_attempt_lists_earlier_failures() {
    let kg = graph();
    let session = session(
        &kg,
        "for which clubs did Ada play",
        &["ada"],
        ExecOptions::default(),
    );
    let before = [TriadFailure::NoRelation("<e0, city, ?x>".to_owned())];
    let options = Options::default();
    let attempt = Try::new(
        &session,
        &options,
        vec![session.linked().entities.clone()],
        Duration::from_secs(1),
        &before,
        Tried::default(),
    );
    assert!(
        attempt.turns()[1]
            .text()
            .ends_with("tried: no relation <e0, city, ?x>"),
        "{}",
        attempt.turns()[1].text()
    );
}

/// Rules C.6: later tries.
#[test]
fn an_attempt_may_not_drop_the_unanswerable_part() {
    let kg = graph();
    let session = session(
        &kg,
        "which of the clubs of Ada has the most seats",
        &["ada"],
        ExecOptions::default(),
    );
    let options = Options::default();
    let begin = |tried| {
        let entities = session
            .linked()
            .entities
            .iter()
            .map(|&node| vec![node])
            .collect();
        Try::new(
            &session,
            &options,
            entities,
            Duration::from_secs(10),
            &[],
            tried,
        )
    };
    let mut first = begin(Tried::default());
    for text in [
        "<e0, stints, ?a> <?a, referee, ?x>",
        "<select>",
        "out player.stints",
        "none",
    ] {
        first.take(text).unwrap();
    }
    assert!(
        matches!(
            first.end(),
            Some(Ended::Failed(TriadFailure::NoRelation(_)))
        ),
        "{:?}",
        first.end()
    );
    let tried = first.into_tried();
    assert_eq!(tried.triples, 2);
    let mut less = begin(tried.clone());
    less.take("<e0, stints, ?x>").unwrap();
    assert_eq!(less.end(), Some(&Ended::Failed(TriadFailure::Less(1, 2))));
    assert!(less.request().is_none());
    let mut other = begin(tried);
    other.take("<e0, stints, ?a> <?a, club, ?x>").unwrap();
    assert_eq!(other.end(), None);
    // Other failures do not set a minimum number of triples.
    let mut wrong = begin(Tried::default());
    wrong.take("<e0, stints, ?a> <?a, club, ?x>").unwrap();
    wrong.take("nonsense").unwrap();
    assert_eq!(wrong.into_tried().triples, 0);
}

#[test]
fn without_the_decision_maker_the_best_ranked_candidates_count() {
    let kg = graph();
    let options = Options {
        relations: 1,
        select_uris: false,
        select_query: false,
        advisor: false,
        ..Options::default()
    };
    let script = [
        (
            SubTask::Triples,
            "<e0, player stints, ?a> <?a, stint club, ?x> <?x, seats, ?n>",
        ),
        (SubTask::Type, "<select>"),
        (SubTask::Template, "select ?x where t0 t1 t2 max ?n"),
    ];
    let end = converse(&kg, &options, &script).0;
    let Ended::Answer(_, solved) = end else {
        panic!("{end:?}")
    };
    assert_eq!(
        solved.value,
        Value::Set(vec![kg.by_name("blues").unwrap()].into())
    );
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        (0usize..4).prop_map(End::Entity),
        "[a-dxnm]".prop_map(End::Var)
    ]
}

fn triple() -> impl Strategy<Value = TriplePattern> {
    let walk =
        (end(), "[a-z]{2,8}( [a-z]{1,8}){0,3}", end()).prop_map(|(subject, phrase, object)| {
            TriplePattern {
                subject,
                phrase,
                object,
            }
        });
    let class = (end(), 0usize..8).prop_map(|(subject, class)| TriplePattern {
        subject,
        phrase: "a".to_owned(),
        object: End::Class(class),
    });
    prop_oneof![4 => walk, 1 => class]
}

fn template() -> impl Strategy<Value = QueryTemplate> {
    let operand = prop_oneof![
        (0usize..3).prop_map(Operand::Value),
        (0usize..3).prop_map(Operand::Entity),
        "[a-d]".prop_map(Operand::Var)
    ];
    let filter = ("[nm]", proptest::sample::select(&Op::ALL[..]), operand)
        .prop_map(|(var, op, value)| Filter { var, op, value });
    let extreme = (
        "[nm]",
        proptest::sample::select(&[Extreme::Max, Extreme::Min][..]),
    );
    let branches = proptest::collection::vec(proptest::collection::vec(0usize..8, 1..5), 1..4);
    let kind = proptest::sample::select(&AnswerType::ALL[..]);
    (
        kind,
        "[a-dx]",
        branches,
        proptest::collection::vec(filter, 0..3),
        proptest::option::of(extreme),
    )
        .prop_map(|(kind, answer, branches, filters, extreme)| QueryTemplate {
            kind,
            answer: (kind != AnswerType::Ask).then_some(answer),
            branches,
            filters,
            extreme,
        })
}

proptest! {
    #[test]
    fn triples_and_templates_read_back_as_written(triples in proptest::collection::vec(triple(), 1..8), template in template()) {
        prop_assert_eq!(parse_triples(&print_triples(&triples)), Ok(triples));
        prop_assert_eq!(template.to_string().parse(), Ok(template));
    }

    #[test]
    fn any_text_that_is_read_is_written_and_read_back(text in ".{0,80}|\\PC{0,20}(<[^>]{0,9}>|, ?){0,6}\\PC{0,20}") {
        if let Ok(triples) = parse_triples(&text) {
            prop_assert_eq!(parse_triples(&print_triples(&triples)), Ok(triples));
        }
        if let Ok(template) = text.parse::<QueryTemplate>() {
            prop_assert_eq!(template.to_string().parse(), Ok(template));
        }
    }

    #[test]
    fn products_are_best_first_complete_and_capped(sizes in proptest::collection::vec(0usize..4, 0..5), cap in 0usize..40) {
        let made = products(&sizes, cap);
        let all: usize = sizes.iter().product();
        prop_assert_eq!(made.len(), all.min(cap));
        let sums: Vec<usize> = made.iter().map(|picks| picks.iter().sum()).collect();
        prop_assert!(sums.is_sorted());
        prop_assert_eq!(made.iter().collect::<HashSet<_>>().len(), made.len());
        prop_assert!(made.iter().all(|picks| picks.iter().zip(&sizes).all(|(pick, size)| pick < size)));
    }
}
