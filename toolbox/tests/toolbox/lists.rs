//! Lists of relations and offered classes: what each entry leads to, how many a prompt has room for,
//! and which must be there (rules A.3 and A.5); and mentions of relations in both directions.

use kg::term::{NodeId, Term};
use kg::{FrozenKg, Kg};
use toolbox::call::{Arg, parse_call, parse_program};
use toolbox::exec::{ExecOptions, Naming, Relation, Session};
use toolbox::limits::SHOWN_CLASSES;
use toolbox::link::Linked;
use toolbox::rank::LeadsTo;

use crate::support::graph_of;

const PLAYERS: &str = concat!(
    include_str!("../data/players.ttl"),
    r#":ada :player.motto "Onward"@en ; :player.birth "1985-02-03"^^xsd:date ; :player.goals 12 ; :player.home :port ."#
);

fn session<'g>(kg: &'g FrozenKg, question: &str, options: ExecOptions) -> Session<'g> {
    let ada = kg.by_name("ada");
    let linked = Linked::new(kg, question, ada.as_slice());
    Session::new(kg, question, linked, &[], options).unwrap()
}

#[test]
fn a_ranking_says_what_each_relation_leads_to() {
    let kg = graph_of(PLAYERS);
    let session = session(&kg, "what is the motto of Ada", ExecOptions::default());
    let leads_to = |set: &str, relation: &str, out: bool| {
        let ranked = session.ranking(&Arg::Name(set.to_owned())).unwrap();
        let mut all = ranked.iter().map(|one| &one.candidate);
        let found = all.find(|one| one.name == relation && one.out == out);
        found
            .unwrap_or_else(|| panic!("{relation}"))
            .leads_to
            .clone()
    };
    let thing = |class: &str| LeadsTo::Thing(vec![class.to_owned()]);
    assert_eq!(leads_to("ada", "player.motto", true), LeadsTo::Text);
    assert_eq!(leads_to("ada", "player.birth", true), LeadsTo::Time);
    assert_eq!(leads_to("ada", "player.goals", true), LeadsTo::Number);
    assert_eq!(leads_to("ada", "player.stints", true), LeadsTo::Statement);
    assert_eq!(leads_to("ada", "player.home", true), thing("city"));
    assert_eq!(leads_to("port", "club.city", false), thing("club"));
    assert_eq!(leads_to("s1", "player.stints", false), thing("person"));
    assert_eq!(leads_to("s1", "stint.role", true), LeadsTo::Thing(vec![]));
}

/// A node with 40 relations, and the number of each.
fn many_relations() -> FrozenKg {
    let iri = |name: String| Term::Iri(format!("http://test.example/{name}"));
    FrozenKg::from_triples((0..40).map(|i| {
        let relation = format!("domain{i:02}.some_type.property_of_{i:02}");
        [iri("ada".to_owned()), iri(relation), iri(format!("o{i}"))]
    }))
}

/// Rules A.3.
#[test]
fn a_list_is_as_long_as_the_prompt_has_room_for() {
    let kg = many_relations();
    let listed = |prompt_tokens: Option<usize>, must_show: &[Relation]| {
        let options = ExecOptions {
            prompt_tokens,
            must_show: must_show.to_vec(),
            ..ExecOptions::default()
        };
        let mut session = session(&kg, "what of ada", options);
        session
            .run(&parse_call("get_relation(ada)").unwrap())
            .unwrap();
        session.current().unwrap().out.clone()
    };
    let all = listed(None, &[]);
    assert_eq!(all.len(), 40);
    assert_eq!(listed(Some(100_000), &[]), all);
    assert_eq!(listed(Some(0), &[]), all[..1]);
    let mut lengths: Vec<usize> = (0..3_000)
        .step_by(2)
        .map(|tokens| {
            let list = listed(Some(tokens), &[]);
            assert_eq!(list, all[..list.len()]);
            list.len()
        })
        .collect();
    assert!(lengths.is_sorted());
    // More room is another relation: every length occurs.
    lengths.dedup();
    assert!(lengths.into_iter().eq(1..=40));
    // What must be shown stays without any room, and nothing else does.
    let must = [all[39], all[7]];
    let mut kept = listed(Some(0), &must);
    kept.sort();
    assert_eq!(kept, [all[7].min(all[39]), all[7].max(all[39])]);
    assert_eq!(listed(Some(100_000), &must).len(), 40);
}

/// A graph with more classes than are offered.
fn many_classes() -> (FrozenKg, Vec<NodeId>) {
    let names: Vec<String> = (0..SHOWN_CLASSES + 3)
        .map(|i| format!("class{i:02}"))
        .collect();
    let triples = names.iter().map(|name| format!(":of_{name} a :{name} ."));
    let triples: Vec<String> = triples.collect();
    let kg = graph_of(&format!("@prefix : <http://e/> . {}", triples.join(" ")));
    let classes = names.iter().map(|name| kg.by_name(name).unwrap());
    let classes = classes.collect();
    (kg, classes)
}

#[test]
fn classes_that_must_be_offered_replace_the_last_others() {
    let (kg, classes) = many_classes();
    let offered = |must: &[NodeId]| {
        let linked = Linked::default();
        let session = Session::new(&kg, "which", linked, must, ExecOptions::default());
        session.unwrap().classes().to_vec()
    };
    let best = offered(&[]);
    assert_eq!(best.len(), SHOWN_CLASSES);
    let left: Vec<NodeId> = classes
        .iter()
        .copied()
        .filter(|class| !best.contains(class))
        .collect();
    assert_eq!(left.len(), 3);
    // One of those that the ranking leaves out takes the place of the last.
    let last = SHOWN_CLASSES - 1;
    assert_eq!(offered(&left[..1]), [&best[..last], &left[..1]].concat());
    assert_eq!(offered(&left), [&best[..last - 2], &left].concat());
    // The last one must stay too, so the one before it goes.
    assert_eq!(
        offered(&[best[last], left[0]]),
        [&best[..last - 1], &[best[last], left[0]]].concat()
    );
    // What is offered already, or is no class, changes nothing.
    let no_class = kg.by_name("of_class00").unwrap();
    assert_eq!(offered(&[best[3], no_class]), best);
    // More classes than places: all of them.
    assert_eq!(offered(&classes).len(), classes.len());
}

#[test]
fn a_mention_names_a_relation_of_its_direction() {
    let kg = graph_of(PLAYERS);
    let mut session = session(&kg, "which club has Ada played for", ExecOptions::default());
    let program = "get_relation(ada); v0 = get_tail_entity(ada, player.stints); get_relation(v0); v1 = get_tail_entity(v0, stint.club); get_relation(v1)";
    for call in parse_program(program).unwrap() {
        session.run(&call).unwrap();
    }
    let named = |call: &str| {
        let named = session.with_names(&parse_call(call).unwrap());
        named.map(|call| call.to_string())
    };
    // The clubs have an in-relation with that word, and the stints an out-relation.
    for (written, name) in [
        (
            "v2 = get_entity_by_constraint(v1, ~m0, =, s1)",
            "v2 = get_entity_by_constraint(v1, ~stint.club, =, s1)",
        ),
        (
            "v2 = get_head_entity(v1, m0)",
            "v2 = get_head_entity(v1, stint.club)",
        ),
        (
            "v2 = get_tail_entity(v0, m0)",
            "v2 = get_tail_entity(v0, stint.club)",
        ),
        (
            "v2 = get_entity_by_constraint(v0, m0, =, reds)",
            "v2 = get_entity_by_constraint(v0, stint.club, =, reds)",
        ),
    ] {
        assert_eq!(named(written).as_deref(), Ok(name));
        let handled = session.with_handles(&parse_call(name).unwrap(), Naming::Mentions);
        assert_eq!(handled.to_string(), written);
    }
    for wrong in [
        "v2 = get_tail_entity(v1, m0)",
        "v2 = get_head_entity(v0, m0)",
        "v2 = get_entity_by_constraint(v1, m0, =, s1)",
        "v2 = get_entity_by_constraint(v0, ~m0, =, reds)",
        "v2 = get_tail_entity(v0, m9)",
        "v2 = get_tail_entity(v0, r99)",
        "v2 = get_tail_entity(e9, player.stints)",
        "v2 = get_entity_by_type(c99)",
        "v2 = judge(reds, club.seats, =, x9)",
    ] {
        assert!(named(wrong).is_err(), "{wrong}");
    }
    // Nothing was listed for this entity.
    let error = named("v2 = get_tail_entity(reds, m0)")
        .unwrap_err()
        .to_string();
    assert!(error.contains("get_relation on it first"), "{error}");
}
