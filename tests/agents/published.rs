//! ODA and Triad as published, on the demo graph: the papers' worked examples fed turn by turn give
//! the published trace, the prompts carry what the papers say, and odd replies are survived.

use crate::support::graph;
use common::transcript::Role;
use infer::agent::{AgentKind, Outcome, Task, ThoughtsOptions, answer_with};
use infer::planner::Scripted;
use kg::{FrozenKg, Kg};
use toolbox::agent::Agent;
use toolbox::answer::{AnswerValue, Provenance};
use toolbox::exec::ExecOptions;
use toolbox::link::Linked;
use toolbox::oda::{OdaOptions, Reflection};
use toolbox::prompt::Template;
use toolbox::published::tog::TogOptions;
use toolbox::published::triad::{Advice, PublishedTriadOptions};
use toolbox::trace::TraceEvent;

/// Answers with scripted replies; entities are given by name.
fn ask(
    kg: &FrozenKg,
    agent: &AgentKind,
    question: &str,
    entities: &[&str],
    replies: &[&str],
) -> Outcome {
    let nodes: Vec<_> = entities
        .iter()
        .map(|name| kg.by_name(name).unwrap())
        .collect();
    let template = Template::of(Agent::KgAgent);
    let linked = Linked::new(kg, question, &nodes);
    let task = Task::new(
        kg,
        question,
        linked,
        ExecOptions::default(),
        &template,
        "scripted",
    );
    let replies = replies.iter().map(|text| (*text).to_owned()).collect();
    answer_with(agent, task, &mut Scripted::new(replies)).unwrap()
}

fn oda(options: OdaOptions) -> AgentKind {
    AgentKind::OdaPaper(options)
}

/// The first turn of every prompt.
fn prompts(outcome: &Outcome) -> Vec<String> {
    let prompt = |event: &TraceEvent| match event {
        TraceEvent::Prompt { turns } => turns.first().map(|turn| {
            assert_eq!(turn.role, Role::User);
            turn.text()
        }),
        _ => None,
    };
    outcome.events.iter().filter_map(prompt).collect()
}

/// The memory after every step, actions first.
fn memories(outcome: &Outcome) -> Vec<Vec<String>> {
    let memory = |event: &TraceEvent| match event {
        TraceEvent::Memory { history } => Some(history.clone()),
        _ => None,
    };
    outcome.events.iter().filter_map(memory).collect()
}

/// What a prompt has behind the name of a field, up to the next field.
fn field<'a>(prompt: &'a str, name: &str, next: &str) -> &'a str {
    let (_, rest) = prompt
        .rsplit_once(name)
        .unwrap_or_else(|| panic!("{name} in {prompt}"));
    rest.split_once(next)
        .map_or(rest, |(field, _)| field)
        .trim()
}

/// Case 1 of the ODA paper: one GetNeighbor, the capital in the memory, the answer from it.
/// Rules B.0, B.2 and B.4.
#[test]
fn the_capital_of_tokyo_as_published() {
    let kg = graph();
    let outcome = ask(
        &kg,
        &oda(OdaOptions::published()),
        "What is the capital of Tokyo?",
        &["tokyo"],
        &[
            "Thought: The capital must be near Tokyo.\nAction: GetNeighbor\nEntity_id: tokyo",
            "Thought: One triple names the capital.\nTriples: (tokyo, location.region.capital, shinjuku)",
            "Thought: The memory has the capital.\nAction: Answer",
            "Shinjuku",
        ],
    );
    assert_eq!(outcome.answer.texts(), ["Shinjuku"]);
    assert_eq!(outcome.answer.provenance, Provenance::Kg);
    let proof: Vec<String> = outcome
        .answer
        .evidence
        .iter()
        .map(|t| t.text.join(" "))
        .collect();
    assert_eq!(proof, ["Tokyo capital or administrative centre Shinjuku"]);
    let line = "tokyo [Tokyo] -location.region.capital [capital or administrative centre]-> shinjuku [Shinjuku]";
    assert_eq!(memories(&outcome)[1], ["GetNeighbor(tokyo)", line]);
    let prompts = prompts(&outcome);
    assert_eq!((prompts.len(), outcome.invalid, outcome.calls), (4, 0, 1));
    // The action prompt has every field, and the memory stands in each prompt after it.
    assert_eq!(
        field(&prompts[0], "\nMemory:", "Candidate entity ids:"),
        "none"
    );
    assert_eq!(field(&prompts[0], "Candidate entity ids:", "\n"), "tokyo");
    assert_eq!(
        field(&prompts[0], "Labels of the candidates:", "\n"),
        "tokyo [Tokyo]"
    );
    let observed = field(&prompts[0], "\nObservation:", "Action history:");
    assert!(
        observed.starts_with("around tokyo [Tokyo]:\n(tokyo [Tokyo], "),
        "{observed}"
    );
    assert!(observed.contains("shinjuku [Shinjuku])"), "{observed}");
    let offered = field(&prompts[1], "Candidate triples:", "Labels:");
    assert!(
        offered.contains("(tokyo, location.region.capital, shinjuku)"),
        "{offered}"
    );
    assert!(prompts[1].contains("Choose fewer than 15 triples"));
    assert_eq!(
        field(&prompts[2], "\nMemory:", "Candidate entity ids:"),
        line
    );
    assert_eq!(
        field(&prompts[2], "Candidate entity ids:", "\n"),
        "shinjuku"
    );
    assert_eq!(
        field(&prompts[2], "Action history:", "\n"),
        "GetNeighbor(tokyo)"
    );
    assert_eq!(field(&prompts[3], "\nMemory:", "\nQuestion:"), line);
}

/// Case 2 of the ODA paper: two explorations, and the place that both novels share.
#[test]
fn the_common_setting_of_two_novels_as_published() {
    let kg = graph();
    let outcome = ask(
        &kg,
        &oda(OdaOptions::published()),
        "In which city are both Norwegian Wood and 1Q84 set?",
        &["norwegian_wood", "one_q84"],
        &[
            "Action: GetNeighbor\nEntity_id: norwegian_wood",
            "Triples:\n- (norwegian_wood, book.novel.setting, tokyo)\n- (tokyo, made.up, x)",
            "Action: GetNeighbor\nEntity_id: one_q84",
            "Triples: (one_q84, book.novel.setting, tokyo)",
            "Action: Answer",
            "[Tokyo]",
        ],
    );
    assert_eq!(outcome.invalid, 0);
    assert_eq!(outcome.answer.texts(), ["Tokyo"]);
    let paths = [
        "norwegian_wood [Norwegian Wood] -book.novel.setting [setting]-> tokyo [Tokyo]",
        "one_q84 [1Q84] -book.novel.setting [setting]-> tokyo [Tokyo]",
    ];
    let actions = ["GetNeighbor(norwegian_wood)", "GetNeighbor(one_q84)"];
    assert_eq!(
        memories(&outcome).last().unwrap()[..],
        [actions, paths].concat()
    );
    let asked = prompts(&outcome);
    assert_eq!(
        field(&asked[2], "Candidate entity ids:", "\n"),
        "tokyo, one_q84"
    );
    // The same by one path.
    let outcome = ask(
        &kg,
        &oda(OdaOptions::published()),
        "In which city are both Norwegian Wood and 1Q84 set?",
        &["norwegian_wood", "one_q84"],
        &[
            "Action: GetPath\nEntity_id: norwegian_wood, one_q84",
            "Triples: (norwegian_wood, book.novel.setting, tokyo), (one_q84, book.novel.setting, tokyo)",
            "Action: Answer",
            "[Tokyo]",
        ],
    );
    assert_eq!(
        (outcome.invalid, outcome.answer.texts()),
        (0, vec!["Tokyo".to_owned()])
    );
    assert_eq!(
        memories(&outcome)[1],
        ["GetPath(norwegian_wood, one_q84)", paths[0], paths[1]]
    );
}

/// The figure of the ODA paper: the partner, then her birthplace; both triples are one path.
/// Rules B.3.
#[test]
fn the_birthplace_of_a_partner_as_published() {
    let kg = graph();
    let outcome = ask(
        &kg,
        &oda(OdaOptions::published()),
        "Where was the partner of Johann Wolfgang von Goethe born?",
        &["goethe"],
        &[
            "GetNeighbor(\"Johann Wolfgang von Goethe\")",
            "(goethe, people.person.partner, christiane_vulpius)",
            "Action: GetNeighbor\nEntity_id: christiane_vulpius",
            "(christiane_vulpius, people.person.place_of_birth, weimar)",
            "Answer",
            "Weimar",
        ],
    );
    let last = memories(&outcome).pop().unwrap();
    assert_eq!(last.len(), 3, "{last:?}");
    assert!(
        last[2].starts_with("goethe [Johann Wolfgang von Goethe] -people.person.partner"),
        "{last:?}"
    );
    assert_eq!(last[2].matches("-> ").count(), 2);
    assert_eq!(outcome.answer.evidence.len(), 2);
    assert_eq!(outcome.answer.provenance, Provenance::Kg);
}

/// An answer that the memory does not hold is the model's own knowledge, which the published form
/// allows. Without entities the answer is asked for at once.
#[test]
fn own_knowledge_is_allowed_and_marked() {
    let kg = graph();
    let agent = oda(OdaOptions::published());
    let outcome = ask(
        &kg,
        &agent,
        "Who wrote Kokoro?",
        &[],
        &["Natsume Soseki | Haruki Murakami"],
    );
    assert_eq!(outcome.answer.provenance, Provenance::Model);
    assert!(outcome.answer.evidence.is_empty());
    assert_eq!(prompts(&outcome).len(), 1);
    let outcome = ask(
        &kg,
        &agent,
        "Is Tokyo in Japan?",
        &["tokyo"],
        &["Action: Answer", "True."],
    );
    assert_eq!(outcome.answer.value, AnswerValue::Truth(true));
    assert_eq!(outcome.answer.provenance, Provenance::Model);
    assert_eq!(
        ask(&kg, &agent, "Who?", &[], &["", "", ""])
            .answer
            .provenance,
        Provenance::None
    );
}

/// Rules B.4: a reply that cannot be read or repeats an action is asked for again twice, then the
/// first open candidate is explored; after the last iteration only the answer is asked for.
#[test]
fn bad_replies_end_in_defaults() {
    let kg = graph();
    let agent = oda(OdaOptions {
        iterations: 1,
        ..OdaOptions::published()
    });
    let nonsense = ["What?", "GetNeighbor(Atlantis)", "GetPath(tokyo)"];
    let replies = [&nonsense[..], &["(x, y, z)", "what", "ever"], &["Shinjuku"]].concat();
    let outcome = ask(
        &kg,
        &agent,
        "What is the capital of Tokyo?",
        &["tokyo"],
        &replies,
    );
    assert_eq!((outcome.invalid, outcome.calls), (6, 1));
    assert_eq!(memories(&outcome)[0], ["GetNeighbor(tokyo)"]);
    assert_eq!(outcome.answer.texts(), ["Shinjuku"]);
    let errors: Vec<String> = outcome
        .events
        .iter()
        .filter_map(|event| match event {
            TraceEvent::Error { message } => Some(message.clone()),
            _ => None,
        })
        .collect();
    assert!(
        errors[0].contains("names no action") && errors[3].contains("none of its triples"),
        "{errors:?}"
    );
}

/// The ablations of the ODA paper: no observation, choices by similarity and chance, facts.
#[test]
fn the_ablations_of_oda() {
    let kg = graph();
    let question = "What is the capital of Tokyo?";
    let run = |reflection, observation, kept, replies: &[&str]| {
        let agent = oda(OdaOptions {
            reflection,
            observation,
            kept,
            ..OdaOptions::published()
        });
        ask(&kg, &agent, question, &["tokyo"], replies)
    };
    let short = ["GetNeighbor(tokyo)", "Answer", "Shinjuku"];
    let similar = run(Reflection::Similarity, true, 1, &short);
    assert!(memories(&similar)[0][1].contains("-> shinjuku [Shinjuku]"));
    let random = |kept| memories(&run(Reflection::Random, true, kept, &short))[0].clone();
    assert_eq!(random(3), random(3));
    assert_eq!(random(3).len(), 4);
    let facts = [
        "GetNeighbor(tokyo)",
        "- Tokyo has many wards.\n* Its offices are in Shinjuku.",
        "Answer",
        "Shinjuku",
    ];
    let facts = run(Reflection::GeneratedFact, true, 15, &facts);
    assert_eq!(
        memories(&facts)[1][1..],
        ["Tokyo has many wards.", "Its offices are in Shinjuku."]
    );
    assert_eq!(facts.answer.provenance, Provenance::Model);
    let blind = run(Reflection::Model, false, 15, &["Answer", "Shinjuku"]);
    assert_eq!(
        field(&prompts(&blind)[0], "\nObservation:", "Action history:"),
        "none"
    );
}

/// Only heads lead to tails, as published; `--observe-both` follows triples from their tails too.
#[test]
fn directions_of_exploration() {
    let kg = graph();
    let question = "Which novels are set in Tokyo?";
    let replies = [
        "GetNeighbor(tokyo)",
        "(one_q84, book.novel.setting, tokyo), (norwegian_wood, book.novel.setting, tokyo)",
        "none",
        "Answer",
        "[1Q84, Norwegian Wood]",
    ];
    let published = ask(
        &kg,
        &oda(OdaOptions::published()),
        question,
        &["tokyo"],
        &replies,
    );
    assert_eq!(published.invalid, 1);
    let mut both = OdaOptions::published();
    both.observe.both_directions = true;
    let replies = [&replies[..2], &replies[3..]].concat();
    let outcome = ask(&kg, &oda(both), question, &["tokyo"], &replies);
    assert_eq!((outcome.invalid, outcome.answer.evidence.len()), (0, 2));
    assert!(memories(&outcome)[1][1].contains("tokyo [Tokyo] <-book.novel.setting"));
}

fn triad(change: impl FnOnce(&mut PublishedTriadOptions)) -> AgentKind {
    let mut options = PublishedTriadOptions::default();
    change(&mut options);
    AgentKind::TriadPaper(options)
}

const DIRECTOR: [&str; 8] = [
    "<Rashomon, director, ?d> <?d, place of birth, ?x>",
    "<select>",
    "rashomon",
    "film.film.directed_by",
    "people.person.place_of_birth",
    "```sparql\nSELECT ?x WHERE { <Rashomon> <director> ?d . ?d <place of birth> ?x }\n```",
    "",
    "",
];

/// Rules C.1 to C.6: two triples through one unknown, linked in order, a query with two patterns.
#[test]
fn a_question_of_two_triples_as_published() {
    let kg = graph();
    let question = "Where was the director of Rashomon born?";
    let outcome = ask(&kg, &triad(|_| {}), question, &[], &DIRECTOR[..6]);
    let place = kg
        .by_name("people.person.place_of_birth")
        .unwrap()
        .relation();
    let born = kg.tails(kg.by_name("akira_kurosawa").unwrap(), place)[0];
    assert_eq!(outcome.answer.texts(), [kg.label(born).unwrap()]);
    assert_eq!((outcome.asked, outcome.invalid), (6, 0));
    assert_eq!(outcome.answer.evidence.len(), 2);
    let program = &outcome.answer.program[0];
    assert!(
        program.contains("directed_by") && program.contains("place_of_birth"),
        "{program}"
    );
    let prompts = prompts(&outcome);
    // Three examples, as published; the mention has its own candidates; the second triple lies
    // between two variables and is linked in the context of the first.
    assert_eq!(prompts[0].matches("\nQuestion: ").count(), 4);
    assert_eq!(
        field(&prompts[2], "Part of the question:", "\n"),
        "Rashomon"
    );
    assert_eq!(field(&prompts[4], "Two things:", "\n"), "?d, ?x");
    let offered = field(&prompts[4], "\nCandidates:", "Relations:");
    assert!(
        offered.contains("people.person.place_of_birth"),
        "{offered}"
    );
    assert!(!offered.contains("book.novel.setting"), "{offered}");
    assert!(prompts[5].contains("Triples: <Rashomon, director, ?d> <?d, place of birth, ?x>"));
    // The recall of each stage is known.
    let stages: Vec<(&str, usize)> = outcome
        .survived
        .iter()
        .map(|one| (one.stage, one.names.len()))
        .collect();
    assert_eq!(stages[1], ("entity selection", 1));
    assert_eq!(stages[3], ("relation selection", 2));
}

/// GROUP BY with HAVING, and ORDER BY with LIMIT: queries that the paper names as its failures.
#[test]
fn groups_and_orders_are_filled_in_the_algebra() {
    let kg = graph();
    let films = kg.by_name("film.film.directed_by").unwrap().relation();
    let all = kg.relations_of_heads(films);
    let (most, count) = all.iter().max_by_key(|(_, n)| **n).unwrap();
    let replies = |query: &'static str| {
        [
            "<?film, directed by, ?director>",
            "<select>",
            "film.film.directed_by",
            query,
        ]
    };
    let having = format!(
        "SELECT ?director WHERE {{ ?film <directed by> ?director }} GROUP BY ?director HAVING (COUNT(DISTINCT ?film) >= {count})"
    );
    let having: &'static str = Box::leak(having.into_boxed_str());
    let question = "Which directors made the most films?";
    let outcome = ask(&kg, &triad(|_| {}), question, &[], &replies(having));
    assert!(
        outcome.answer.texts().contains(&kg.label(*most).unwrap()),
        "{:?}",
        outcome.answer
    );
    assert!(outcome.answer.evidence.len() >= *count);
    let ordered = "SELECT ?director WHERE { ?film <directed by> ?director } GROUP BY ?director ORDER BY DESC(COUNT(?film)) LIMIT 1";
    let outcome = ask(&kg, &triad(|_| {}), question, &[], &replies(ordered));
    assert_eq!(outcome.answer.texts().len(), 1, "{:?}", outcome.answer);
    // A class, a condition on a name, and a count.
    let outcome = ask(
        &kg,
        &triad(|_| {}),
        "How many films did Akira Kurosawa direct?",
        &[],
        &[
            "<?film, directed by, Akira Kurosawa>",
            "<count>",
            "akira_kurosawa",
            "film.film.directed_by",
            "SELECT (COUNT(DISTINCT ?film) AS ?n) WHERE { ?film a <film> . ?film <directed by> ?d FILTER (?d = <Akira Kurosawa>) }",
            "film.film.directed_by",
        ],
    );
    let kurosawa = kg.by_name("akira_kurosawa").unwrap();
    let n = kg.heads(films, kurosawa).len() as u64;
    assert_eq!(
        outcome.answer.value,
        AnswerValue::Number(n),
        "{:?}",
        outcome.events.last()
    );
}

trait RelationsOfHeads {
    fn relations_of_heads(
        &self,
        relation: kg::term::RelId,
    ) -> std::collections::BTreeMap<kg::term::NodeId, usize>;
}

impl RelationsOfHeads for FrozenKg {
    /// Number of heads by tail.
    fn relations_of_heads(
        &self,
        relation: kg::term::RelId,
    ) -> std::collections::BTreeMap<kg::term::NodeId, usize> {
        let mut counts = std::collections::BTreeMap::new();
        self.each_pair(relation, &mut |_, tail| {
            *counts.entry(tail).or_default() += 1;
            true
        });
        counts
    }
}

/// Rules C.6: a yes/no answer is yes if the model or the graph says so; a missing name is asked
/// from the model on the last try only; a count has no fallback.
#[test]
fn the_advisor_and_the_tries() {
    let kg = graph();
    let ask_it = |replies: &[&str]| {
        ask(
            &kg,
            &triad(|o| o.tries = 1),
            "Is Rashomon by Akira Kurosawa?",
            &[],
            replies,
        )
    };
    let ask_query = [
        "<Rashomon, directed by, Akira Kurosawa>",
        "<yes or no>",
        "rashomon",
        "akira_kurosawa",
        "film.film.directed_by",
        "ASK { <Rashomon> <directed by> <Akira Kurosawa> }",
    ];
    let graph_says = ask_it(&[&ask_query[..], &["False"]].concat());
    assert_eq!(graph_says.answer.value, AnswerValue::Truth(true));
    assert_eq!(graph_says.answer.provenance, Provenance::Kg);
    let model_says = ask_it(&[
        "<Rashomon, eaten by, Akira Kurosawa>",
        "<yes or no>",
        "none",
        "none",
        "x",
        "True",
    ]);
    assert_eq!(model_says.answer.value, AnswerValue::Truth(true));
    assert_eq!(model_says.answer.provenance, Provenance::Model);

    let question = "Which novel is set in Qwghlmyx?";
    let lost = [
        "<?novel, set in, Qwghlmyx>",
        "<select>",
        "SELECT ?novel WHERE { ?novel <set in> <Qwghlmyx> }",
    ];
    let replies = [&lost[..], &lost, &["Norwegian Wood"]].concat();
    let outcome = ask(&kg, &triad(|o| o.tries = 2), question, &[], &replies);
    assert_eq!(outcome.answer.texts(), ["Norwegian Wood"]);
    assert_eq!(outcome.answer.provenance, Provenance::Model);
    // The second try knows what failed.
    let prompts = prompts(&outcome);
    assert!(
        prompts[3].contains(
            "An earlier try failed: nothing of the graph fits <?novel, set in, Qwghlmyx>"
        ),
        "{}",
        prompts[3]
    );
    // The last try of a count ends without an answer.
    let count = [
        "<?novel, set in, Qwghlmyx>",
        "<count>",
        "SELECT (COUNT(?n) AS ?c) WHERE { ?n <set in> <Qwghlmyx> }",
    ];
    let outcome = ask(&kg, &triad(|o| o.tries = 1), question, &[], &count);
    assert_eq!(
        (outcome.answer.provenance, outcome.failure),
        (Provenance::None, Some("no answer in any try"))
    );
}

/// The role ablations: each leaves out the requests of its role.
#[test]
fn roles_can_be_left_out() {
    let kg = graph();
    let question = "Where was the director of Rashomon born?";
    // D for linking: no entity and no relation is asked for.
    let replies = [DIRECTOR[0], DIRECTOR[1], DIRECTOR[5], "1"];
    let outcome = ask(
        &kg,
        &triad(|o| o.select_uris = false),
        question,
        &[],
        &replies,
    );
    let asked = prompts(&outcome);
    assert!(
        asked
            .iter()
            .all(|prompt| !prompt.contains("You choose which")),
        "{asked:?}"
    );
    // D for queries: the first query counts.
    let outcome = ask(
        &kg,
        &triad(|o| (o.select_uris, o.select_query) = (false, false)),
        question,
        &[],
        &replies[..3],
    );
    assert_eq!(outcome.asked, 3);
    // G: neither triples nor query are asked for.
    let outcome = ask(
        &kg,
        &triad(|o| o.generalist = false),
        "Who directed Rashomon?",
        &[],
        &["rashomon", "film.film.directed_by"],
    );
    assert_eq!(
        (outcome.asked, outcome.answer.texts()),
        (2, vec!["Akira Kurosawa".to_owned()])
    );
    // A: the graph alone.
    let lost = [
        "<?x, set in, Qwghlmyx>",
        "<select>",
        "SELECT ?x WHERE { ?x <set in> <Qwghlmyx> }",
    ];
    for advice in [Advice::None, Advice::YesOrNo] {
        let agent = triad(|o| (o.tries, o.advice) = (1, advice));
        let outcome = ask(&kg, &agent, "Which novel is set in Qwghlmyx?", &[], &lost);
        assert!(outcome.answer.is_none());
    }
}

/// N examples stand in the generalist's prompts, and none for N = 0.
/// The model rates the relations of the topic entity, says that the triples suffice, and answers.
#[test]
fn think_on_graph_follows_what_the_model_rates() {
    let kg = graph();
    let tokyo = kg.by_name("tokyo").unwrap();
    let capital = kg.by_name("location.region.capital").unwrap();
    let relations = kg.out_relations(tokyo);
    let number = relations
        .iter()
        .position(|relation| relation.node() == capital)
        .unwrap()
        + 1;
    let question = "What is the capital of Tokyo?";
    let agent = AgentKind::TogModel(TogOptions::default());
    let rated = format!("{number}: 0.9");
    let enough = "Yes.\nAnswer: Shinjuku";
    let outcome = ask(&kg, &agent, question, &["tokyo"], &[&rated, enough]);
    assert_eq!(outcome.answer.texts(), ["Shinjuku"]);
    assert_eq!(outcome.answer.provenance, Provenance::Kg);
    assert_eq!(
        outcome.answer.evidence[0].text.join(" "),
        "Tokyo capital or administrative centre Shinjuku"
    );
    assert_eq!((outcome.calls, outcome.invalid), (1, 0));
    let asked = prompts(&outcome);
    let line = format!("\n{number}. location.region.capital [capital or administrative centre]");
    assert!(asked[0].contains(&line), "{}", asked[0]);
    let triple = "(tokyo [Tokyo], location.region.capital [capital or administrative centre], shinjuku [Shinjuku])";
    assert_eq!(field(&asked[1], "\nTriples:", "\n\n"), triple);
    // Triples that do not suffice are followed further; after the last round the model answers anyway.
    let agent = AgentKind::TogModel(TogOptions { width: 1, depth: 1 });
    let replies = [&rated, "No.", "Answer: Rome"];
    let outcome = ask(&kg, &agent, question, &["tokyo"], &replies);
    assert_eq!(outcome.answer.texts(), ["Rome"]);
    assert_eq!(outcome.answer.provenance, Provenance::Model);
    assert!(outcome.answer.evidence.is_empty());
    // Without an entity there is nothing to explore.
    let outcome = ask(&kg, &agent, question, &[], &["Answer: "]);
    assert!(outcome.answer.is_none());
    assert_eq!((outcome.calls, outcome.invalid), (0, 1));
    assert_eq!(field(&prompts(&outcome)[0], "\nTriples:", "\n\n"), "none");
}

#[test]
fn the_number_of_examples() {
    let kg = graph();
    for n in [0, 1, 3, 8] {
        let agent = triad(|o| o.examples = n);
        let outcome = ask(
            &kg,
            &agent,
            "Where was the director of Rashomon born?",
            &[],
            &DIRECTOR[..6],
        );
        let prompts = prompts(&outcome);
        for at in [0, 1, 5] {
            assert_eq!(
                prompts[at].matches("Question: ").count(),
                n + 1,
                "{}",
                prompts[at]
            );
        }
    }
}

/// The most frequent of several answers counts, and the first of equally frequent ones.
#[test]
fn self_consistency_takes_the_most_frequent_answer() {
    let kg = graph();
    let options = |samples| ThoughtsOptions {
        samples,
        examples: 2,
    };
    let agent = AgentKind::SelfConsistency(options(5));
    let replies = [
        "It was written by Haruki.\nAnswer: Haruki Murakami",
        "Answer: Natsume Soseki",
        "Hm.\nAnswer: haruki murakami",
        "",
        "Answer: Yukio",
    ];
    let outcome = ask(&kg, &agent, "Who wrote 1Q84?", &[], &replies);
    assert_eq!(outcome.answer.texts(), ["Haruki Murakami"]);
    assert_eq!((outcome.asked, outcome.invalid), (5, 1));
    assert_eq!(outcome.answer.provenance, Provenance::Model);
    let agent = AgentKind::Cot(options(1));
    let outcome = ask(&kg, &agent, "Who wrote 1Q84?", &[], &replies[1..2]);
    assert_eq!(outcome.answer.texts().len(), 1);
    assert_eq!(prompts(&outcome)[0].matches("Question: ").count(), 3);
}
