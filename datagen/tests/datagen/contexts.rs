//! Conversion with topic entities, and with entities that are excluded after every call.

use datagen::convert::{Context, convert};
use kg::term::Term;
use kg::{FrozenKg, Kg, parse_query};
use toolbox::call::{Call, Tool, print_program};
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions, Session, Value, run_program};
use toolbox::link::Linked;

const PREFIX: &str = "PREFIX : <http://e/> ";

fn iri(name: &str) -> Term {
    Term::Iri(format!("http://e/{name}"))
}

/// The calls of a pattern's program without lists of relations, made without a graph.
fn calls(pattern: &str, topics: &[&str]) -> String {
    let query = format!("{PREFIX}SELECT DISTINCT ?x {{ {pattern} }}");
    let topics: Vec<Term> = topics.iter().map(|name| iri(name)).collect();
    let context = Context {
        topics: &topics,
        ..Context::default()
    };
    let program = convert(&parse_query(&query).unwrap(), &context).unwrap();
    let calls = program.calls.iter();
    let calls = calls.filter(|call| !matches!(call.tool, Tool::GetRelation | Tool::End));
    let calls: Vec<Call> = calls.cloned().collect();
    print_program(&calls)
        .replace("http://e/", "")
        .replace('\n', " ")
}

/// Topic entities start a program, before longer paths, and in their order if paths are equally long. They come first
/// among the constraints of a node too (rules A.2.3).
#[test]
fn topic_entities_come_first() {
    let star = "?x :at :a . ?x :by :b";
    let from_a = "v0 = get_head_entity(a, at); v1 = get_head_entity(b, by); v2 = intersect(v0, v1)";
    let from_b = "v0 = get_head_entity(b, by); v1 = get_head_entity(a, at); v2 = intersect(v0, v1)";
    assert_eq!(calls(star, &[]), from_a);
    assert_eq!(calls(star, &["b"]), from_b);
    assert_eq!(calls(star, &["a", "b"]), from_a);
    assert_eq!(calls(star, &["b", "a"]), from_b);

    let longer = "?x :at :a . ?x :by ?y . ?y :in :b";
    let far = "v0 = get_head_entity(b, in); v1 = get_head_entity(v0, by); v2 = get_head_entity(a, at); v3 = intersect(v1, v2)";
    let near = "v0 = get_head_entity(a, at); v1 = get_head_entity(b, in); v2 = get_head_entity(v1, by); v3 = intersect(v0, v2)";
    assert_eq!(calls(longer, &[]), far);
    assert_eq!(calls(longer, &["a"]), near);
    assert_eq!(calls(longer, &["a", "b"]), far);

    let inner = "?x :of ?y . ?y :at :a . ?y :by :b . ?y :in :c . ?y :on :d";
    for (topics, order) in [
        (&[][..], "a b c d"),
        (&["c"], "c a b d"),
        (&["d", "c", "b"], "d c b a"),
        (&["z", "b"], "b a c d"),
    ] {
        let relation = |entity: &str| match entity {
            "a" => "at",
            "b" => "by",
            "c" => "in",
            _ => "on",
        };
        let mut wanted = Vec::new();
        for (place, entity) in order.split(' ').enumerate() {
            let relation = relation(entity);
            wanted.push(match place.checked_sub(1) {
                None => format!("v0 = get_head_entity({entity}, {relation});"),
                Some(before) => format!(
                    "v{place} = get_entity_by_constraint(v{before}, {relation}, =, {entity});"
                ),
            });
        }
        wanted.push("v4 = get_head_entity(v3, of)".to_owned());
        assert_eq!(calls(inner, topics), wanted.join(" "), "{topics:?}");
    }
}

/// A list and a union are mentioned where their first topic entity is.
#[test]
fn a_list_or_a_union_may_have_the_topic_entity() {
    let listed = "VALUES ?x { :a :b } ?x :by :c . ?x :of :d";
    for (topics, wanted) in [
        (
            &[][..],
            "v0 = get_head_entity(c, by); v1 = get_head_entity(d, of); v2 = intersect(v0, v1); v3 = union(a, b); v4 = intersect(v2, v3)",
        ),
        (
            &["b"],
            "v0 = union(a, b); v1 = get_head_entity(c, by); v2 = intersect(v0, v1); v3 = get_head_entity(d, of); v4 = intersect(v2, v3)",
        ),
        (
            &["d"],
            "v0 = get_head_entity(d, of); v1 = get_head_entity(c, by); v2 = intersect(v0, v1); v3 = union(a, b); v4 = intersect(v2, v3)",
        ),
        (
            &["d", "a"],
            "v0 = get_head_entity(d, of); v1 = union(a, b); v2 = intersect(v0, v1); v3 = get_head_entity(c, by); v4 = intersect(v2, v3)",
        ),
    ] {
        assert_eq!(calls(listed, topics), wanted, "{topics:?}");
    }

    let either = "{ ?x :at :a } UNION { ?x :at :b } ?x :by :c . ?x :of :d";
    for (topics, wanted) in [
        (
            &[][..],
            "v0 = get_head_entity(a, at); v1 = get_head_entity(b, at); v2 = union(v0, v1); v3 = get_head_entity(c, by); v4 = intersect(v2, v3); v5 = get_head_entity(d, of); v6 = intersect(v4, v5)",
        ),
        (
            &["c", "b"],
            "v0 = get_head_entity(c, by); v1 = get_head_entity(a, at); v2 = get_head_entity(b, at); v3 = union(v1, v2); v4 = intersect(v0, v3); v5 = get_head_entity(d, of); v6 = intersect(v4, v5)",
        ),
        (
            &["b", "d", "c"],
            "v0 = get_head_entity(a, at); v1 = get_head_entity(b, at); v2 = union(v0, v1); v3 = get_head_entity(d, of); v4 = intersect(v2, v3); v5 = get_head_entity(c, by); v6 = intersect(v4, v5)",
        ),
    ] {
        assert_eq!(calls(either, topics), wanted, "{topics:?}");
    }
}

/// The answer that a query's program gives on a graph, or the reason why the query has no program.
fn answer(kg: &FrozenKg, pattern: &str, when: ExcludeWhen) -> Result<Vec<Term>, String> {
    let query = format!("{PREFIX}SELECT DISTINCT ?y {{ {pattern} }}");
    let context = Context {
        kg: Some(kg),
        exclude: when,
        ..Context::default()
    };
    let program = convert(&parse_query(&query).unwrap(), &context);
    let program = program.map_err(|reason| format!("{reason:?}"))?;
    let nodes = program.exclude.iter().filter_map(|term| kg.find(term));
    let options = ExecOptions {
        lists: false,
        exclude: Exclude {
            nodes: nodes.collect(),
            when,
        },
        ..ExecOptions::default()
    };
    let mut session = Session::new(kg, "", Linked::default(), &[], options).unwrap();
    match run_program(&mut session, &program.calls).unwrap() {
        Value::Set(set) => Ok(set.iter().map(|&node| kg.term(node)).collect()),
        other => panic!("{other:?}"),
    }
}

/// An entity that all variables must differ from may be dropped after every call, and only then (rule R7).
#[test]
fn what_all_variables_differ_from_may_be_dropped_after_every_call() {
    let twins = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "b"), ("c", "e")];
    let triple = |(one, other): (&str, &str)| [iri(one), iri("twin"), iri(other)];
    let kg = FrozenKg::from_triples(twins.map(triple).to_vec());
    let refused = Err("Filter".to_owned());
    let both = ":a :twin ?x . ?x :twin ?y FILTER(?x != :b && ?y != :b)";
    assert_eq!(
        answer(&kg, both, ExcludeWhen::EveryStep),
        Ok(vec![iri("e")])
    );
    assert_eq!(answer(&kg, both, ExcludeWhen::Answer), refused);
    for one in [
        ":a :twin ?x . ?x :twin ?y FILTER(?x != :b)",
        ":a :twin ?x . ?x :twin ?y FILTER(?x != :b && ?y != :d)",
    ] {
        assert_eq!(answer(&kg, one, ExcludeWhen::EveryStep), refused);
        assert_eq!(answer(&kg, one, ExcludeWhen::Answer), refused);
    }
}
