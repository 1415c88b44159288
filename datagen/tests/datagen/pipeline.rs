//! Generation on a small graph: equal bytes for any number of threads, complete counts, both
//! layouts, abstention, and atomic folders.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::transcript::Role;
use common::wordings::Wordings;
use datagen::Error;
use datagen::example::{Example, ExampleAnswer};
use datagen::pipeline::{GenerateOptions, GoldDataset, generate};
use datagen::question::{GoldQuery, GoldQuestion, Topic};
use datagen::write_dataset;
use kg::term::{Literal, RDFS_LABEL, Term};
use kg::{FrozenKg, Kg};
use toolbox::call::{Arg, parse_call};
use toolbox::exec::ExcludeWhen;
use toolbox::prompt::{Layout, Template};

const CLUBS: usize = 40;

/// Clubs in cities in countries; every third club has a stadium with a capacity.
fn graph() -> FrozenKg {
    let iri = |name: String| Term::Iri(format!("http://e/{name}"));
    let mut triples = Vec::new();
    for i in 0..CLUBS {
        let (club, city, land) = (
            iri(format!("club{i}")),
            iri(format!("city{}", i % 9)),
            iri(format!("land{}", i % 3)),
        );
        triples.push([club.clone(), iri("club.city".into()), city.clone()]);
        triples.push([city, iri("city.country".into()), land]);
        triples.push([
            club.clone(),
            Term::Iri(RDFS_LABEL.to_owned()),
            Term::Literal(Literal::plain(format!("Club {i}"))),
        ]);
        if i % 3 == 0 {
            triples.push([
                club,
                iri("club.capacity".into()),
                Term::Literal(Literal::xsd((1000 * i).to_string(), "integer")),
            ]);
        }
    }
    FrozenKg::from_triples(triples)
}

fn question(id: &str, wording: &str, topic: &str, sparql: &str) -> GoldQuestion {
    GoldQuestion {
        id: id.to_owned(),
        source: "jsonl".to_owned(),
        question: wording.to_owned(),
        query: GoldQuery::Text(format!("PREFIX : <http://e/> {sparql}")),
        topics: vec![Topic {
            name: topic.to_owned(),
            label: String::new(),
        }],
        answers: None,
        answers_bind: false,
        hops: Some(2),
        kind: None,
        exclude: ExcludeWhen::Others,
    }
}

fn questions() -> Vec<GoldQuestion> {
    let mut all = Vec::new();
    for i in 0..CLUBS {
        let topic = format!("club{i}");
        let ask = |kind: &str, wording: &str, sparql: &str| {
            question(
                &format!("{kind}{i}"),
                wording,
                &topic,
                &sparql.replace("TOPIC", &topic),
            )
        };
        all.push(ask(
            "land",
            &format!("In which country does Club {i} play?"),
            "SELECT ?x { :TOPIC :club.city ?c . ?c :city.country ?x }",
        ));
        all.push(ask(
            "size",
            &format!("How many fit into Club {i}'s ground?"),
            "SELECT ?x { :TOPIC :club.capacity ?x }",
        ));
        all.push(ask(
            "coach",
            &format!("Who coaches Club {i}?"),
            "SELECT ?x { :TOPIC :club.coach ?x }",
        ));
        all.push(ask(
            "same",
            &format!("Which other clubs share a city with Club {i}?"),
            "SELECT ?x { :TOPIC :club.city ?c . ?x :club.city ?c FILTER(?x != :TOPIC) }",
        ));
        all.push(ask("wrong", "broken", "SELECT ?x { :TOPIC"));
        all.push(ask(
            "group",
            "grouped",
            "SELECT ?x (COUNT(?c) AS ?n) { ?c :club.city ?x } GROUP BY ?x",
        ));
    }
    all
}

fn run(options: &GenerateOptions) -> GoldDataset {
    generate(
        &questions(),
        &graph(),
        options,
        &|_, _| {},
        &AtomicBool::new(false),
    )
    .unwrap()
}

fn options(layout: Layout, threads: usize) -> GenerateOptions {
    GenerateOptions {
        template: Template::new(layout),
        threads,
        abstain: 0.3,
        valid: 0.1,
        ..GenerateOptions::default()
    }
}

fn bytes(dir: &Path) -> [Vec<u8>; 3] {
    ["train.jsonl", "valid.jsonl", "refused.jsonl"]
        .map(|name| std::fs::read(dir.join(name)).unwrap())
}

#[test]
fn wordings_tell_questions_that_somebody_gave_from_made_ones() {
    let dir = tempfile::tempdir().unwrap();
    for (name, templates, given) in [("given", 0, 1.0), ("few", 3, 0.0), ("made", 4, 0.0)] {
        let out = dir.path().join(name);
        let mut questions = questions();
        for (at, one) in questions.iter_mut().enumerate() {
            let source = if at % 4 < templates {
                "templates"
            } else {
                "jsonl"
            };
            source.clone_into(&mut one.source);
        }
        write_dataset(
            &out,
            &questions,
            &graph(),
            &options(Layout::Dialogue, 1),
            &serde_json::json!({}),
            &|_, _| {},
            &AtomicBool::new(false),
        )
        .unwrap();
        let wordings = Wordings::of_folder(&out).unwrap().unwrap();
        assert!(wordings.len() > 3, "{name}: {}", wordings.len());
        assert_eq!(wordings.given(), given, "{name}");
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let dir = tempfile::tempdir().unwrap();
    for layout in [Layout::Dialogue, Layout::Paper] {
        let write = |threads: usize| {
            let out = dir.path().join(format!("{}-{threads}", layout.name()));
            let run = serde_json::json!({});
            write_dataset(
                &out,
                &questions(),
                &graph(),
                &GenerateOptions {
                    scramble: 0.5,
                    ..options(layout, threads)
                },
                &run,
                &|_, _| {},
                &AtomicBool::new(false),
            )
            .unwrap();
            bytes(&out)
        };
        let one = write(1);
        assert!(one.iter().all(|file| !file.is_empty()));
        assert_eq!(one, write(2));
        assert_eq!(one, write(16));
    }
}

#[test]
fn verified_and_refused_add_up_to_questions() {
    let made = run(&options(Layout::Dialogue, 0));
    let total = &made.report.total;
    assert_eq!(total.questions, questions().len());
    assert_eq!(
        total.verified + total.refused.values().sum::<usize>(),
        total.questions
    );
    assert_eq!(total.refused["syntax"], CLUBS);
    assert!(
        total.verified >= CLUBS && total.converted >= total.verified,
        "{total:?}"
    );
    assert_eq!(made.refused.len(), total.refused.values().sum::<usize>());
    assert_eq!(made.train.len() + made.valid.len(), total.examples);
    assert_eq!(total.by_hops[&2].questions, total.questions);
    let json = serde_json::to_value(&made.report).unwrap();
    for key in [
        "questions",
        "converted",
        "verified",
        "refused",
        "examples",
        "steps",
        "seconds",
    ] {
        assert!(
            json.get(key).is_some() && json["sources"]["jsonl"].get(key).is_some(),
            "{key}"
        );
    }
}

fn find<'m>(made: &'m GoldDataset, id: &str) -> Vec<&'m Example> {
    made.train
        .iter()
        .chain(&made.valid)
        .filter(|example| example.id == id)
        .collect()
}

/// Rule R21: sets are shown by their size only.
#[test]
fn a_dialogue_is_one_conversation_of_calls_and_replies() {
    let made = run(&options(Layout::Dialogue, 0));
    let examples = find(&made, "land5");
    let [example] = examples[..] else {
        panic!("{} examples", examples.len())
    };
    let roles: Vec<Role> = example
        .messages
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(roles[..2], [Role::System, Role::User]);
    assert_eq!(
        roles
            .iter()
            .filter(|role| **role == Role::Assistant)
            .count(),
        example.n_steps
    );
    assert_eq!(
        (example.step, example.n_steps, example.program.len()),
        (5, 5, 5)
    );
    assert_eq!(example.messages.last().unwrap().content, "ans = end(v1)");
    assert_eq!(
        example.answer,
        ExampleAnswer::Names(vec!["land2".to_owned()])
    );
    assert!(
        example.messages[1]
            .content
            .starts_with("in which country does e0 play?"),
        "{}",
        example.messages[1].content
    );
    let calls = example
        .messages
        .iter()
        .filter(|message| message.role == Role::Assistant);
    assert!(
        calls
            .clone()
            .all(|message| parse_call(&message.content).is_ok())
    );
    assert!(
        calls
            .clone()
            .any(|message| message.content.contains("(e0, ")),
        "entities go by handle"
    );
    assert!(
        calls
            .skip(1)
            .all(|message| !message.content.contains(", r0")),
        "relations go by name"
    );
    assert_eq!(
        example.template_hash,
        Template::new(Layout::Dialogue).hash()
    );
    assert_eq!(example.kg_hash, graph().content_hash());
}

/// Rules A.3: one sample a call.
#[test]
fn the_paper_layout_has_one_example_per_call() {
    let made = run(&options(Layout::Paper, 0));
    let examples = find(&made, "land5");
    assert_eq!(examples.len(), 5);
    for (i, example) in examples.iter().enumerate() {
        assert_eq!((example.step, example.n_steps), (i + 1, 5));
        assert_eq!(example.messages.len(), 3);
        assert_eq!(
            example.messages[2].content, example.program[i],
            "full names"
        );
        let memory = &example.messages[1].content;
        assert!(
            example.program[..i]
                .iter()
                .all(|call| memory.contains(call.as_str())),
            "the history contains the earlier calls"
        );
    }
    assert!(
        examples[1].messages[1].content.contains("club.city"),
        "the prompt contains the relation list after get_relation"
    );
    assert!(
        examples[2].messages[1]
            .content
            .contains("Current KG information: none"),
        "the list is removed after its use"
    );
}

#[test]
fn what_the_query_rules_out_is_kept_out() {
    let made = run(&options(Layout::Dialogue, 0));
    let examples = find(&made, "same5");
    let exclude = examples[0].exclude.as_ref().unwrap();
    assert_eq!(
        (exclude.when, &exclude.names),
        (ExcludeWhen::Others, &vec!["club5".to_owned()])
    );
    let ExampleAnswer::Names(names) = &examples[0].answer else {
        panic!()
    };
    assert!(!names.is_empty() && !names.contains(&"club5".to_owned()));
}

#[test]
fn giving_up_is_taught_where_a_list_shows_why() {
    let made = run(&options(Layout::Dialogue, 0));
    let abstained: Vec<&Example> = made
        .train
        .iter()
        .chain(&made.valid)
        .filter(|example| example.abstain)
        .collect();
    assert_eq!(abstained.len(), made.report.total.abstain);
    for example in &abstained {
        assert_eq!(example.answer, ExampleAnswer::Names(Vec::new()));
        let calls: Vec<&str> = example.program.iter().map(String::as_str).collect();
        assert_eq!(calls[calls.len() - 1], "ans = end([])");
        assert!(
            calls[calls.len() - 2].starts_with("get_relation("),
            "{calls:?}"
        );
        let list = &example.messages[example.messages.len() - 2].content;
        for gone in example.without.iter().chain([&"club.coach".to_owned()]) {
            assert!(!list.contains(gone.as_str()), "{list} contains {gone}");
        }
    }
    let of = |kind: &str| {
        abstained
            .iter()
            .filter(|example| example.id.starts_with(kind))
            .count()
    };
    assert!(
        of("land") > 0 && of("land") < CLUBS,
        "a share of the chains"
    );
    assert_eq!(of("coach"), CLUBS, "the graph knows no coaches");
    // Clubs without a capacity abstain; in the others the relation may be hidden.
    assert!(of("size") >= CLUBS - CLUBS.div_ceil(3));
    let without = run(&GenerateOptions {
        abstain: 0.0,
        ..options(Layout::Dialogue, 0)
    });
    assert_eq!(without.report.total.abstain, 0);
    assert!(
        without.report.total.refused.values().sum::<usize>()
            > made.report.total.refused.values().sum::<usize>()
    );
}

#[test]
fn entities_of_held_out_questions_do_not_occur() {
    let held: Vec<GoldQuestion> = questions()
        .into_iter()
        .filter(|question| question.id.ends_with('7'))
        .collect();
    let made = run(&GenerateOptions {
        hold_out: held.clone(),
        ..options(Layout::Dialogue, 0)
    });
    let total = &made.report.total;
    assert_eq!(total.held_out, held.len());
    assert_eq!(total.questions, questions().len() - held.len());
    assert!(made.train.iter().chain(&made.valid).all(|example| {
        example
            .topics
            .iter()
            .all(|topic| !topic.name.ends_with('7'))
    }));
}

#[test]
fn a_language_tagged_text_is_a_handle() {
    let iri = |name: &str| Term::Iri(format!("http://e/{name}"));
    let text = |text: &str, lang: &str| {
        Term::Literal(Literal {
            lang: Some(lang.to_owned()),
            ..Literal::plain(text.to_owned())
        })
    };
    let kg = FrozenKg::from_triples(vec![
        [iri("club0"), iri("club.mayor"), text("Sally Roemer", "en")],
        [iri("club1"), iri("club.mayor"), text("Ada Lee", "en")],
        [iri("land"), iri("land.club"), iri("club0")],
        [iri("land"), iri("land.club"), iri("club1")],
    ]);
    let sparql =
        "SELECT ?x { :land :land.club ?x . ?x :club.mayor ?m FILTER(?m = \"Sally Roemer\"@en) }";
    let asked = [question(
        "mayor",
        "Which club of the land has Sally Roemer as its mayor?",
        "land",
        sparql,
    )];
    for layout in [Layout::Dialogue, Layout::Paper] {
        let made = generate(
            &asked,
            &kg,
            &GenerateOptions {
                valid: 0.0,
                ..options(layout, 1)
            },
            &|_, _| {},
            &AtomicBool::new(false),
        )
        .unwrap();
        assert!(made.refused.is_empty(), "{:?}", made.refused);
        assert_eq!(
            find(&made, "mayor")[0].answer,
            ExampleAnswer::Names(vec!["club0".to_owned()])
        );
    }
}

#[test]
fn the_limit_and_the_seed_choose() {
    let ids = |seed| {
        let made = run(&GenerateOptions {
            limit: Some(30),
            seed,
            abstain: 0.0,
            ..options(Layout::Dialogue, 0)
        });
        assert_eq!(made.report.total.questions, 30);
        made.train
            .iter()
            .map(|example| example.id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(1), ids(1));
    assert_ne!(ids(1), ids(2));
}

#[test]
fn scrambled_names_are_the_same_in_question_lists_and_calls() {
    let plain = run(&options(Layout::Dialogue, 2));
    let scrambled = run(&GenerateOptions {
        scramble: 1.0,
        ..options(Layout::Dialogue, 2)
    });
    assert_eq!(
        plain.valid, scrambled.valid,
        "validation examples are not scrambled"
    );
    assert_eq!(plain.train.len(), scrambled.train.len());
    let mut named = 0;
    for (before, after) in plain.train.iter().zip(&scrambled.train) {
        assert_eq!(
            (&before.id, &before.program, &before.answer),
            (&after.id, &after.program, &after.answer)
        );
        let text: String = after
            .messages
            .iter()
            .map(|message| format!("{} ", message.content))
            .collect();
        // Words that occur in no listed relation are kept.
        if before
            .messages
            .iter()
            .filter(|message| message.role == Role::Tool)
            .any(|message| message.content.contains("country"))
        {
            assert!(
                before.messages[1].content.contains("country") || !before.id.starts_with("land"),
                "{}",
                before.id
            );
            assert!(!text.contains("country"), "{text}");
        }
        assert!(
            !text.contains("club.city")
                && !text.contains("city.country")
                && !text.contains("capacity"),
            "{text}"
        );
        let lists: Vec<&str> = after
            .messages
            .iter()
            .filter(|m| m.role == Role::Tool)
            .flat_map(|m| m.content.split_whitespace())
            .collect();
        for message in after
            .messages
            .iter()
            .filter(|message| message.role == Role::Assistant)
        {
            let call = parse_call(&message.content).unwrap();
            if let Some(Arg::Name(name)) = call.args.get(1) {
                assert!(
                    lists.contains(&name.as_str()),
                    "{name} is not shown in {text}"
                );
                named += 1;
            }
        }
    }
    assert!(named > 50, "{named}");
}

#[test]
fn the_folder_appears_atomically() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("data");
    let run = serde_json::json!({"sources": ["jsonl=x"]});
    let options = options(Layout::Dialogue, 2);
    let stop = AtomicBool::new(false);
    let seen = AtomicUsize::new(0);
    let count = |done: usize, total: usize| {
        assert_eq!(total, questions().len());
        if seen.fetch_max(done, Ordering::Relaxed) > 20 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let stopped =
        write_dataset(&out, &questions(), &graph(), &options, &run, &count, &stop).unwrap_err();
    assert!(stopped.to_string().contains("stopped after"), "{stopped}");
    let left = || {
        std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(left(), ["data.partial"], "only the journal of the next run");

    let write = || {
        write_dataset(
            &out,
            &questions(),
            &graph(),
            &options,
            &run,
            &|_, _| {},
            &AtomicBool::new(false),
        )
    };
    let report = write().unwrap();
    assert!(
        report.resumed > 20 && report.resumed < questions().len(),
        "{} resumed",
        report.resumed
    );
    assert_eq!(left(), ["data"]);
    let mut names: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            common::listing::LIST,
            "README.md",
            "refused.jsonl",
            "report.json",
            "run.json",
            "train.jsonl",
            "valid.jsonl",
            "valid.questions.jsonl",
            "wordings.txt",
            "words.tsv"
        ]
    );
    assert!(
        std::fs::read_to_string(out.join("README.md"))
            .unwrap()
            .starts_with("---\nlanguage:")
    );
    write().unwrap();

    std::fs::remove_file(out.join("run.json")).unwrap();
    let error = write().unwrap_err();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists),
        "{error}"
    );
    let not_ours = dir.path().join("mine");
    std::fs::write(&not_ours, "keep me").unwrap();
    assert!(
        write_dataset(
            &not_ours,
            &questions(),
            &graph(),
            &options,
            &run,
            &|_, _| {},
            &AtomicBool::new(false)
        )
        .is_err()
    );
    assert_eq!(std::fs::read_to_string(&not_ours).unwrap(), "keep me");
}
