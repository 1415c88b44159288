//! The tools on a small graph, rule by rule (rules A.1.1), and the property of evidence: it is
//! enough to derive the answer again.

use std::time::Duration;

use common::acceptor::Acceptor;
use kg::term::{RelId, Term};
use kg::{FrozenKg, Kg};
use toolbox::answer::{Answer, AnswerValue, Provenance};
use toolbox::call::{CallAcceptor, parse_call, parse_program};
use toolbox::exec::{
    Exclude, ExcludeWhen, ExecOptions, Naming, Relation, Session, Shown, ToolError, Value,
    run_program,
};
use toolbox::limits::PROMPT_TOKENS;
use toolbox::link::Linked;
use toolbox::prompt::{Conversation, Layout, Template};

use crate::support::graph_of;

/// Invented players and clubs, linked by stints as unnamed nodes.
const GRAPH: &str = concat!(
    include_str!("../data/players.ttl"),
    r#"
:rome a :city ; rdfs:label "Rome"@en ; :city.founded "-0753"^^xsd:gYear .
:paris a :city ; rdfs:label "Paris"@en ; :city.founded "0250"^^xsd:gYear .
"#
);

fn graph() -> FrozenKg {
    graph_of(GRAPH)
}

fn session<'g>(kg: &'g FrozenKg, options: ExecOptions) -> Session<'g> {
    let ada = kg.by_name("ada").unwrap();
    let question = "which club did Ada play for in 2008";
    Session::new(
        kg,
        question,
        Linked::new(kg, question, &[ada]),
        &[],
        options,
    )
    .unwrap()
}

fn run(program: &str) -> Result<Value, ToolError> {
    let kg = graph();
    let mut session = session(&kg, ExecOptions::default());
    run_program(&mut session, &parse_program(program).unwrap()).map_err(|(_, error)| error)
}

/// The answer of a program as sorted names, a number or a truth value.
fn names(program: &str) -> String {
    let kg = graph();
    match run(program).unwrap() {
        Value::Set(set) => set
            .iter()
            .map(|&node| kg.name(node))
            .collect::<Vec<_>>()
            .join(" "),
        Value::Int(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Table(_) => "a table".to_owned(),
    }
}

/// Rules A.1: tools E2 and E3.
#[test]
fn e2_and_e3_follow_relations_in_their_direction() {
    assert_eq!(
        names(
            "v0 = get_tail_entity(ada, player.stints); v1 = get_tail_entity(v0, stint.club); ans = end(v1)"
        ),
        "blues greens reds"
    );
    assert_eq!(
        names("v0 = get_head_entity(port, club.city); ans = end(v0)"),
        "greens reds"
    );
}

#[test]
fn e4_gives_all_instances() {
    assert_eq!(
        names("v0 = get_entity_by_type(city); ans = end(v0)"),
        "hill paris port rome"
    );
}

/// Rules A.1.1, rule R1.
#[test]
fn r1_relations_must_bind() {
    let error = run("v0 = get_tail_entity(ada, club.city); ans = end(v0)").unwrap_err();
    assert!(
        matches!(&error, ToolError::UnknownRelation { given, near, .. } if given == "club.city" && near.contains(&"player.stints".to_owned())),
        "{error}"
    );
    // A last segment binds if only one shown relation has it.
    assert_eq!(
        names(
            "get_relation(ada); v0 = get_tail_entity(ada, stints); v1 = count(v0); ans = end(v1)"
        ),
        "3"
    );
}

#[test]
fn r2_the_other_direction_is_a_hint_not_an_answer() {
    let error = run("v0 = get_tail_entity(port, club.city); ans = end(v0)").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`club.city` only enters port: use get_head_entity(port, club.city)"
    );
}

#[test]
fn r5_filters_without_survivors_are_empty_unless_lenient() {
    let program = "v0 = get_entity_by_type(club); v1 = get_entity_by_constraint(v0, club.seats, >, 90000); ans = end(v1)";
    assert_eq!(names(program), "");
    let kg = graph();
    let mut lenient = session(
        &kg,
        ExecOptions {
            lenient_filters: true,
            ..ExecOptions::default()
        },
    );
    assert!(
        matches!(run_program(&mut lenient, &parse_program(program).unwrap()).unwrap(), Value::Set(set) if set.len() == 3)
    );
}

#[test]
fn r7_exclusion() {
    let program = parse_program("v0 = union(ada, bo); ans = end(v0)").unwrap();
    let kg = graph();
    let ada = kg.by_name("ada").unwrap();
    let answer = |nodes, when| {
        let mut session = session(
            &kg,
            ExecOptions {
                exclude: Exclude { nodes, when },
                ..ExecOptions::default()
            },
        );
        match run_program(&mut session, &program).unwrap() {
            Value::Set(set) => set
                .iter()
                .map(|&node| kg.name(node))
                .collect::<Vec<_>>()
                .join(" "),
            _ => String::new(),
        }
    };
    let bo = kg.by_name("bo").unwrap();
    assert_eq!(answer(vec![ada], ExcludeWhen::Never), "ada bo");
    assert_eq!(answer(vec![ada], ExcludeWhen::Answer), "bo");
    assert_eq!(answer(vec![ada, bo], ExcludeWhen::Others), "ada bo");
    assert_eq!(answer(vec![ada, bo], ExcludeWhen::Answer), "");
    assert_eq!(answer(vec![ada], ExcludeWhen::EveryStep), "bo");
}

#[test]
fn r9_r13_extremes_order_years_before_christ_and_keep_ties() {
    assert_eq!(
        names(
            "v0 = get_entity_by_type(city); v1 = get_entity_by_constraint(v0, city.founded, argmin); ans = end(v1)"
        ),
        "rome"
    );
    assert_eq!(
        names(
            "v0 = get_entity_by_type(city); v1 = get_entity_by_constraint(v0, city.founded, argmax); ans = end(v1)"
        ),
        "paris"
    );
    assert_eq!(
        names(
            "v0 = get_entity_by_type(club); v1 = get_entity_by_constraint(v0, club.founded, argmax); ans = end(v1)"
        ),
        "greens reds"
    );
}

#[test]
fn r10_partial_dates_are_intervals() {
    let clubs = |op: &str| {
        names(&format!(
            "v0 = get_entity_by_type(club); v1 = get_entity_by_constraint(v0, club.founded, {op}); ans = end(v1)"
        ))
    };
    assert_eq!(clubs("=, 1902"), "blues");
    assert_eq!(clubs("<, 1906"), "blues");
    assert_eq!(clubs(">=, 1906"), "greens reds");
}

#[test]
fn r11_open_bounds_overlap() {
    let at = |year: &str| {
        names(&format!(
            "v0 = get_tail_entity(ada, player.stints); v1 = get_entity_by_constraint(v0, stint.from_to, =, {year}); v2 = get_tail_entity(v1, stint.club); ans = end(v2)"
        ))
    };
    assert_eq!(at("2000"), "greens");
    assert_eq!(at("2009"), "blues reds");
    assert_eq!(at("2020"), "blues");
}

#[test]
fn r14_r15_entity_values_and_inverses() {
    assert_eq!(
        names(
            "v0 = get_tail_entity(ada, player.stints); v1 = get_entity_by_constraint(v0, stint.role, =, captain); ans = end(v1)"
        ),
        "s1"
    );
    assert_eq!(
        names(
            "v0 = get_head_entity(blues, stint.club); v1 = get_entity_by_constraint(v0, ~player.stints, !=, ada); ans = end(v1)"
        ),
        "s4"
    );
}

#[test]
fn r17_judge_is_existential_and_false_without_tails() {
    assert_eq!(
        names("v0 = judge(reds, club.city, =, port); ans = end(v0)"),
        "true"
    );
    assert_eq!(
        names("v0 = judge(blues, club.seats, >, 90000); ans = end(v0)"),
        "false"
    );
    assert_eq!(
        names("v0 = judge(greens, club.seats, >, 1); ans = end(v0)"),
        "false"
    );
}

#[test]
fn judge_takes_several_values_and_classes() {
    let cities = "v0 = union(reds, blues); v1 = get_tail_entity(v0, club.city);";
    assert_eq!(
        names(&format!(
            "{cities} v2 = judge(greens, club.city, =, v1); ans = end(v2)"
        )),
        "true"
    );
    assert_eq!(
        names(&format!(
            "{cities} v2 = judge(port, city.twin, =, v0); ans = end(v2)"
        )),
        "false"
    );
    let seats = "v0 = union(reds, blues); v1 = get_tail_entity(v0, club.seats);";
    for (club, op, truth) in [
        ("reds", "<", "true"),
        ("reds", ">", "false"),
        ("blues", ">", "true"),
        ("blues", "<", "false"),
    ] {
        assert_eq!(
            names(&format!(
                "{seats} v2 = judge({club}, club.seats, {op}, v1); ans = end(v2)"
            )),
            truth,
            "{club} {op}"
        );
    }
    assert_eq!(
        names("v0 = intersect(reds, blues); v1 = judge(greens, club.city, =, v0); ans = end(v1)"),
        "false"
    );
    // A filter still needs a single value.
    let error = run(&format!(
        "{seats} v2 = get_entity_by_constraint(v0, club.seats, <, v1); ans = end(v2)"
    ))
    .unwrap_err();
    assert!(matches!(error, ToolError::Comparison(_)), "{error}");
    assert_eq!(
        names("v0 = judge(reds, rdf:type, =, club); ans = end(v0)"),
        "true"
    );
    assert_eq!(
        names("v0 = judge(port, rdf:type, =, club); ans = end(v0)"),
        "false"
    );
}

#[test]
fn a_class_can_be_judged_where_classes_are_offered() {
    let kg = graph();
    let mut session = session(&kg, ExecOptions::default());
    let club = session
        .classes()
        .iter()
        .position(|&class| kg.name(class) == "club")
        .unwrap();
    let text = format!("v0 = judge(e0, rdf:type, =, c{club})");
    let accepts =
        |session: &Session<'_>| CallAcceptor::new(session.live(Naming::Mixed)).accepts(&text);
    assert!(
        !accepts(&session),
        "a set can be judged only after its relations are shown"
    );
    session
        .run(&parse_call("get_relation(e0)").unwrap())
        .unwrap();
    assert!(accepts(&session));
    let call = session
        .run(&parse_call(&text).unwrap())
        .unwrap()
        .call
        .clone();
    assert_eq!(call.to_string(), "v0 = judge(ada, rdf:type, =, club)");
    assert_eq!(session.variable(0), Some(&Value::Bool(false)));
    assert_eq!(session.with_handles(&call, Naming::Mixed).to_string(), text);
}

#[test]
fn r18_r19_counts_and_intersections_of_nothing() {
    assert_eq!(names("v0 = count([]); ans = end(v0)"), "0");
    assert_eq!(
        names("v0 = intersect(reds, blues); v1 = intersect(v0, reds); ans = end(v1)"),
        ""
    );
}

#[test]
fn r20_variables_are_immutable_and_known() {
    assert!(matches!(
        run("v0 = count(v3); ans = end(v0)").unwrap_err(),
        ToolError::UnknownVariable { given: 3, live: 0 }
    ));
    assert!(matches!(
        run("v1 = count(ada); ans = end(v1)").unwrap_err(),
        ToolError::Assignment { given: 1, next: 0 }
    ));
    assert!(matches!(
        run("v0 = count(ada); v1 = count(v0); ans = end(v1)").unwrap_err(),
        ToolError::NotASet(0)
    ));
}

#[test]
fn of_two_candidates_the_question_picks_one() {
    let film =
        ":reds_1981 a :film ; rdfs:label \"Reds\"@en ; :film.director :bo ; :film.runtime 195 .";
    let kg = graph_of(&format!("{GRAPH}{film}\n"));
    let answer = |question: &str, program: &str| {
        let linked = Linked::new(&kg, question, &[]);
        let mut session = Session::new(&kg, question, linked, &[], ExecOptions::default()).unwrap();
        match run_program(&mut session, &parse_program(program).unwrap()).unwrap() {
            Value::Set(set) => {
                let mut names: Vec<String> = set.iter().map(|&node| kg.name(node)).collect();
                names.sort();
                names.join(" ")
            }
            other => panic!("{other:?}"),
        }
    };
    let both = "v0 = get_candidate_entity(\"reds\"); ans = end(v0)";
    let one = "v0 = get_candidate_entity(\"reds\"); v1 = disambiguate_entity(v0); ans = end(v1)";
    for (question, expected) in [
        ("how many seats does the club Reds have", "reds"),
        ("who is the director of the film Reds", "reds_1981"),
    ] {
        assert_eq!(answer(question, both), "reds reds_1981", "{question}");
        assert_eq!(answer(question, one), expected, "{question}");
    }
}

#[test]
fn calls_beyond_the_step_limit_or_after_the_end_are_rejected() {
    let kg = graph();
    let mut one = session(
        &kg,
        ExecOptions {
            max_steps: 1,
            ..ExecOptions::default()
        },
    );
    one.run(&parse_call("get_relation(ada)").unwrap()).unwrap();
    assert!(matches!(
        one.run(&parse_call("ans = end(ada)").unwrap()),
        Err(ToolError::Steps { limit: 1 })
    ));
    let mut ended = session(&kg, ExecOptions::default());
    ended.run(&parse_call("ans = end(ada)").unwrap()).unwrap();
    assert!(matches!(
        ended.run(&parse_call("ans = end(ada)").unwrap()),
        Err(ToolError::Ended)
    ));
}

#[test]
fn the_deadline_counts_calls_and_not_planner_time() {
    let kg = graph();
    let deadline = Duration::from_secs(1);
    let mut slow = session(
        &kg,
        ExecOptions {
            deadline,
            ..ExecOptions::default()
        },
    );
    std::thread::sleep(deadline + deadline / 10);
    slow.run(&parse_call("get_relation(ada)").unwrap()).unwrap();
    let mut over = session(
        &kg,
        ExecOptions {
            deadline: Duration::ZERO,
            ..ExecOptions::default()
        },
    );
    assert!(matches!(
        over.run(&parse_call("get_relation(ada)").unwrap()),
        Err(ToolError::Deadline { .. })
    ));
}

/// Programs whose answers depend on every kind of call.
const PROGRAMS: [&str; 15] = [
    "v0 = get_tail_entity(ada, player.stints); v1 = get_tail_entity(v0, stint.club); v2 = get_tail_entity(v1, club.city); ans = end(v2)",
    "v0 = get_tail_entity(ada, player.stints); v1 = get_entity_by_constraint(v0, stint.from_to, =, 2009); v2 = get_tail_entity(v1, stint.club); ans = end(v2)",
    "v0 = get_entity_by_type(club); v1 = get_entity_by_constraint(v0, club.seats, argmax); ans = end(v1)",
    "v0 = get_entity_by_type(club); v1 = get_head_entity(port, club.city); v2 = intersect(v0, v1); v3 = count(v2); ans = end(v3)",
    "v0 = get_tail_entity(port, city.twin); v1 = get_head_entity(hill, city.twin); v2 = union(v0, v1); ans = end(v2)",
    "v0 = judge(reds, club.city, =, port); ans = end(v0)",
    "v0 = judge(blues, club.seats, >, 90000); ans = end(v0)",
    "v0 = judge(reds, rdf:type, =, club); ans = end(v0)",
    "v0 = judge(port, rdf:type, =, club); ans = end(v0)",
    "v0 = union(reds, blues); v1 = get_tail_entity(v0, club.seats); v2 = judge(reds, club.seats, <, v1); ans = end(v2)",
    "v0 = get_head_entity(blues, stint.club); v1 = get_entity_by_constraint(v0, ~player.stints, !=, ada); v2 = get_head_entity(v1, player.stints); ans = end(v2)",
    "v0 = union(reds, blues); v1 = get_entity_by_constraint(v0, club.founded, argmin); ans = end(v1)",
    "v0 = get_tail_entity(ada, player.stints); v1 = get_entity_by_constraint(v0, stint.to, <, 2005); v2 = get_tail_entity([v1, s4], stint.club); ans = end(v2)",
    // What adds nothing to the answer must be known too.
    "v0 = get_tail_entity([reds, ada], club.city); ans = end(v0)",
    "v0 = union(reds, ada); v1 = get_tail_entity(v0, club.city); ans = end(v1)",
];

#[test]
fn evidence_alone_gives_the_answer_again() {
    let kg = graph();
    for text in PROGRAMS {
        let program = parse_program(text).unwrap();
        let mut first = session(&kg, ExecOptions::default());
        run_program(&mut first, &program).unwrap();
        let answer = Answer::of(&first);
        assert_eq!(answer.provenance, Provenance::Kg, "{text}");
        assert!(!answer.evidence.is_empty(), "{text}");
        assert!(answer.evidence.len() < kg.len());
        let triples = answer.evidence.iter().map(|triple| triple.triple.clone());
        let small = FrozenKg::from_triples(triples);
        let linked = Linked::default();
        let mut again = Session::new(&small, "", linked, &[], ExecOptions::default()).unwrap();
        run_program(&mut again, &program).unwrap_or_else(|(step, error)| {
            panic!("{text}: step {step}: {error}\n{:?}", answer.evidence)
        });
        let terms = |answer: &Answer| match &answer.value {
            AnswerValue::Set(members) => members
                .iter()
                .map(|member| member.term.to_string())
                .collect::<Vec<_>>(),
            other => vec![format!("{other:?}")],
        };
        assert_eq!(terms(&Answer::of(&again)), terms(&answer), "{text}");
    }
}

/// Who checks an extreme wants to see what it was compared with.
#[test]
fn evidence_of_an_extreme_has_the_values_that_lost() {
    let kg = graph();
    let mut session = session(&kg, ExecOptions::default());
    let program = "v0 = union(reds, blues); v1 = get_entity_by_constraint(v0, club.seats, argmax); ans = end(v1)";
    run_program(&mut session, &parse_program(program).unwrap()).unwrap();
    let answer = Answer::of(&session);
    assert_eq!(answer.texts(), ["Blues"]);
    let texts = answer.evidence.iter().map(|triple| triple.text.join(" "));
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    assert_eq!(texts, ["Blues club.seats 81000", "Reds club.seats 50000"]);
}

#[test]
fn an_empty_answer_names_the_step() {
    let kg = graph();
    let mut empty = session(&kg, ExecOptions::default());
    let program = "v0 = get_tail_entity(ada, player.stints); v1 = get_entity_by_constraint(v0, stint.from_to, =, 1950); v2 = get_entity_by_constraint(v1, stint.to, <, 1990); ans = end(v2)";
    run_program(&mut empty, &parse_program(program).unwrap()).unwrap();
    let answer = Answer::of(&empty);
    assert!(answer.is_none());
    // The stint with the greens has no start and so includes 1950; the second filter empties the set.
    assert_eq!(answer.emptied.unwrap().step, 3);
}

#[test]
fn live_calls_can_be_run() {
    let kg = graph();
    for naming in [
        Naming::Handles,
        Naming::Mentions,
        Naming::Mixed,
        Naming::Names,
    ] {
        let mut s = session(&kg, ExecOptions::default());
        s.run(&parse_call("get_relation(ada)").unwrap()).unwrap();
        let acceptor = CallAcceptor::new(s.live(naming));
        let call = match naming {
            Naming::Handles => "v0 = get_tail_entity(e0, r0)",
            Naming::Mixed | Naming::Mentions => "v0 = get_tail_entity(e0, player.stints)",
            Naming::Names => "v0 = get_tail_entity(ada, player.stints)",
        };
        assert!(
            acceptor.accepts(call),
            "{:?}",
            acceptor.continuations(&acceptor.start())
        );
        s.run(&parse_call(call).unwrap()).unwrap();
        assert_eq!(
            s.steps()[1].call.to_string(),
            "v0 = get_tail_entity(ada, player.stints)"
        );
        assert!(CallAcceptor::new(s.live(naming)).accepts("get_relation(v0)"));
    }
}

/// Runs a program as the template writes it. Returns the session, and the conversation as text.
fn told<'g>(kg: &'g FrozenKg, template: &Template, program: &str) -> (Session<'g>, String) {
    assert_eq!(Template::by_hash(&template.hash()), Some(template.clone()));
    let mut s = session(kg, ExecOptions::default());
    let mut conversation = Conversation::open(template, &s);
    for call in parse_program(program).unwrap() {
        let written = template.call(&s, &call);
        assert_eq!(s.with_names(&written).unwrap(), call);
        s.run(&written).unwrap();
        conversation.record(&s, &written.to_string()).unwrap();
    }
    let turns = conversation.into_samples();
    let text = |turn: &common::transcript::Turn| format!("{:?}: {}\n", turn.role, turn.text());
    (s, turns[0].iter().map(text).collect())
}

#[test]
fn handles_and_names_are_two_spellings_of_one_program() {
    let kg = graph();
    let template = Template {
        naming: Naming::Handles,
        ..Template::new(Layout::Dialogue)
    };
    let program = "get_relation(ada); v0 = get_tail_entity(ada, player.stints); get_relation(v0); v1 = get_entity_by_constraint(v0, stint.from_to, =, 2008); get_relation(v1); v2 = get_tail_entity(v1, stint.club); ans = end(v2)";
    let (s, text) = told(&kg, &template, program);
    assert!(text.contains("which club did e0 play for in x0"), "{text}");
    assert!(text.contains("get_entity_by_constraint(v0, r"), "{text}");
    assert!(text.contains(", =, x0)"), "{text}");
    assert_eq!(Answer::of(&s).texts(), ["Reds"]);
}

#[test]
fn an_observation_follows_a_list_of_relations_and_nothing_else() {
    let kg = graph();
    let template = Template {
        observe: true,
        ..Template::new(Layout::Dialogue)
    };
    assert_eq!(Template::by_hash(&template.hash()), Some(template.clone()));
    let mut s = session(&kg, ExecOptions::default());
    let told = |s: &mut Session<'_>, template: &Template, call: &str| {
        let step = s.run(&parse_call(call).unwrap()).unwrap().clone();
        template.reply(s, &step).unwrap().unwrap().text()
    };
    let list = told(&mut s, &template, "get_relation(ada)");
    let plain = template_without(&template)
        .reply(&s, &s.steps()[0].clone())
        .unwrap()
        .unwrap()
        .text();
    let rest = list.strip_prefix(&plain).unwrap();
    // The question asks for the club two hops away, which the list alone does not show.
    assert!(
        rest.starts_with("\nsee e0 ") && rest.contains("stint.club Reds"),
        "{list}"
    );
    assert_eq!(
        told(
            &mut s,
            &template,
            "v0 = get_tail_entity(ada, player.stints)"
        ),
        "many"
    );
    assert!(told(&mut s, &template, "get_relation(v0)").contains("\nsee v0 1 "));
    let blind = ExecOptions {
        without: vec![kg.by_name("stint.club").unwrap().relation()],
        ..ExecOptions::default()
    };
    assert!(!told(&mut session(&kg, blind), &template, "get_relation(ada)").contains("stint.club"));
}

fn template_without(observing: &Template) -> Template {
    Template {
        observe: false,
        ..observing.clone()
    }
}

#[test]
fn relations_use_the_mention_that_names_them() {
    let kg = graph();
    let template = Template {
        naming: Naming::Mentions,
        ..Template::new(Layout::Dialogue)
    };
    let program = "get_relation(ada); v0 = get_tail_entity(ada, player.stints); get_relation(v0); v1 = get_tail_entity(v0, stint.club); get_relation(v1); v2 = get_head_entity(v1, stint.club); ans = end(v2)";
    let (s, text) = told(&kg, &template, program);
    assert!(
        text.contains("which m0 club did e0 m1 play for in x0"),
        "{text}"
    );
    // No word of the question is in `player.stints`; the first mention names `stint.club` in both directions.
    for call in [
        "v0 = get_tail_entity(e0, player.stints)",
        "v1 = get_tail_entity(v0, m0)",
        "v2 = get_head_entity(v1, m0)",
    ] {
        assert!(text.contains(call), "{text}");
    }
    assert!(
        s.with_names(&parse_call("v3 = get_tail_entity(v0, m1)").unwrap())
            .is_err()
    );
}

/// Rules A.3: the paper layout and the relations that must be shown.
#[test]
fn a_paper_prompt_stays_within_its_tokens_and_keeps_what_is_needed() {
    let iri = |name: String| Term::Iri(format!("http://test.example/{name}"));
    let relation = |i: usize| {
        format!(
            "somedomain{i:02}.averylongtypenameofmanywords.andaverylongpropertynameofevenmorewords"
        )
    };
    let kg = FrozenKg::from_triples((0..60).map(|i| {
        [
            iri("ada".to_owned()),
            iri(relation(i)),
            iri(format!("o{i}")),
        ]
    }));
    let ada = kg.by_name("ada").unwrap();
    let template = Template::new(Layout::Paper);
    assert_eq!(Template::by_hash(&template.hash()), Some(template.clone()));
    let needed = kg.by_name(&relation(59)).unwrap().relation();
    let listed = |must_show: &[RelId], fit: bool| {
        let options = ExecOptions {
            must_show: must_show.iter().map(|&r| Relation::Plain(r)).collect(),
            ..ExecOptions::default()
        };
        let options = if fit { template.fit(options) } else { options };
        let mut session = Session::new(
            &kg,
            "what of ada",
            Linked::new(&kg, "what of ada", &[ada]),
            &[],
            options,
        )
        .unwrap();
        session
            .run(&parse_call("get_relation(ada)").unwrap())
            .unwrap();
        let tokens: usize = template
            .opening(&session)
            .iter()
            .map(|turn| toolbox::tokens::estimate(&turn.text()))
            .sum();
        (session.current().unwrap().out.clone(), tokens)
    };
    let (all, tokens) = listed(&[], false);
    assert!(all.len() == 40 && tokens > PROMPT_TOKENS, "{tokens}");
    let (fitting, tokens) = listed(&[], true);
    assert!(
        fitting.len() < 40 && fitting == all[..fitting.len()] && tokens <= PROMPT_TOKENS,
        "{} relations, {tokens} tokens",
        fitting.len()
    );
    let (with, tokens) = listed(&[needed], true);
    assert!(
        tokens <= PROMPT_TOKENS
            && with.contains(&Relation::Plain(needed))
            && !fitting.contains(&Relation::Plain(needed))
    );
}

/// Rules A.1.1.
#[test]
fn handles_count_through_both_directions_and_a_class_is_offered_once() {
    let kg = graph();
    let [a, b, c] = [0, 1, 2].map(|i| Relation::Plain(kg.relations()[i]));
    let shown = Shown {
        out: vec![a, b],
        incoming: vec![a, c],
    };
    for handle in 0..4 {
        let (relation, out) = shown.get(handle).unwrap();
        assert_eq!(shown.index(relation, out), Some(handle));
    }
    let question = "which city is it";
    let city = kg.by_name("city").unwrap();
    let linked = Linked::new(&kg, question, &[]);
    let session = Session::new(&kg, question, linked, &[city], ExecOptions::default()).unwrap();
    let offered = session.classes().iter().filter(|class| **class == city);
    assert_eq!(offered.count(), 1);
}
