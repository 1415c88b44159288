//! Properties of the call language: `parse(print(c)) == c`; printed calls over live items are
//! accepted; every accepted call parses and its arguments are live; every accepted prefix can be
//! completed; the parser never panics.

use common::acceptor::Acceptor;
use kg::term::{Literal, XSD};
use kg::value::{Extreme, Op};
use proptest::collection::vec;
use proptest::prelude::*;
use toolbox::call::{
    Arg, Call, CallAcceptor, HandleKind, Live, LiveColumn, LiveSet, LiveTable, Tool, parse_call,
    parse_program, print_name, print_program,
};
use toolbox::limits::MAX_SET_ARGS;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}(\\.[a-z_]{1,8}){0,2}",
        "\\PC{1,12}",
        Just("v3".to_owned()),
        Just("e0".to_owned()),
        Just("2011".to_owned()),
        Just("argmax".to_owned())
    ]
}

fn literal() -> impl Strategy<Value = Literal> {
    let text = prop_oneof![
        "\\PC{0,10}",
        "-?[0-9]{1,6}(\\.[0-9]{1,2})?",
        Just("2009-01-01".to_owned()),
        Just("a \"b\", (c)".to_owned())
    ];
    (text, 0..3u8).prop_map(|(lexical, kind)| match kind {
        0 => Literal::plain(lexical),
        1 => Literal {
            lang: Some("en".to_owned()),
            ..Literal::plain(lexical)
        },
        _ => Literal {
            datatype: Some(format!("{XSD}date")),
            ..Literal::plain(lexical)
        },
    })
}

fn set() -> impl Strategy<Value = Arg> {
    let one = prop_oneof![
        (0..30u32).prop_map(Arg::Var),
        (0..9usize).prop_map(|i| Arg::handle(HandleKind::Entity, i)),
        name().prop_map(Arg::Name)
    ];
    prop_oneof![4 => one.clone(), 1 => vec(one, 0..3).prop_map(Arg::List)]
}

fn relation() -> impl Strategy<Value = Arg> {
    let plain = prop_oneof![
        (0..60usize).prop_map(|i| Arg::handle(HandleKind::Relation, i)),
        (0..60usize).prop_map(|i| Arg::handle(HandleKind::Mention, i)),
        name().prop_map(Arg::Name)
    ];
    prop_oneof![4 => plain.clone(), 1 => plain.prop_map(|arg| Arg::Inverse(Box::new(arg)))]
}

fn op() -> impl Strategy<Value = Arg> {
    proptest::sample::select(vec![Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge]).prop_map(Arg::Op)
}

fn value() -> impl Strategy<Value = Arg> {
    prop_oneof![
        literal().prop_map(Arg::Literal),
        name().prop_map(Arg::Name),
        (0..9usize).prop_map(|i| Arg::handle(HandleKind::Value, i)),
        (0..9usize).prop_map(|i| Arg::handle(HandleKind::Entity, i)),
        (0..9usize).prop_map(|i| Arg::handle(HandleKind::Class, i)),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let args = prop_oneof![
        vec(set(), 1..3).prop_map(|args| (Tool::GetRelation, args)),
        (set(), relation()).prop_map(|(s, r)| (Tool::GetTailEntity, vec![s, r])),
        (set(), relation()).prop_map(|(s, r)| (Tool::GetHeadEntity, vec![s, r])),
        name().prop_map(|class| (Tool::GetEntityByType, vec![Arg::Name(class)])),
        (set(), relation(), op(), value())
            .prop_map(|(s, r, o, v)| (Tool::GetEntityByConstraint, vec![s, r, o, v])),
        (set(), relation(), any::<bool>()).prop_map(|(s, r, max)| {
            let extreme = if max { Extreme::Max } else { Extreme::Min };
            (
                Tool::GetEntityByConstraint,
                vec![s, r, Arg::Extreme(extreme)],
            )
        }),
        literal().prop_map(|mention| (
            Tool::GetCandidateEntity,
            vec![Arg::Literal(Literal::plain(mention.lexical))]
        )),
        set().prop_map(|s| (Tool::Count, vec![s])),
        // A list as the first of several sets would parse as the bracketed form of all of them.
        vec((0..30u32).prop_map(Arg::Var), 2..5).prop_map(|sets| (Tool::Intersect, sets)),
        vec(name().prop_map(Arg::Name), 2..5).prop_map(|sets| (Tool::Union, sets)),
        (set(), relation(), op(), value()).prop_map(|(s, r, o, v)| (Tool::Judge, vec![s, r, o, v])),
        set().prop_map(|s| (Tool::RetrieveRelation, vec![s])),
        set().prop_map(|s| (Tool::DisambiguateEntity, vec![s])),
        set().prop_map(|s| (Tool::End, vec![s])),
    ];
    (args, 0..40u32).prop_map(|((tool, args), next)| Call::new(tool, args, next))
}

fn live() -> impl Strategy<Value = Live> {
    let texts = |letter: char, most: usize| {
        (0..=most).prop_map(move |n| (0..n).map(|i| format!("{letter}{i}")).collect::<Vec<_>>())
    };
    let set = (any::<bool>(), any::<bool>(), 0..12usize, 0..12usize);
    (
        0..12u32,
        vec(set, 0..12),
        texts('c', 9),
        texts('x', 4),
        vec("[a-z]{1,5}", 0..4),
    )
        .prop_map(|(next_var, sets, classes, values, mentions)| {
            let sets = sets
                .into_iter()
                .enumerate()
                .map(|(i, (scalar, entity, out, incoming))| {
                    let text = if entity {
                        format!("e{i}")
                    } else {
                        format!("v{i}")
                    };
                    LiveSet {
                        text,
                        scalar: scalar && !entity,
                        unanswerable: false,
                        entity,
                        just_listed: i == 0,
                        out: (0..out).map(|r| format!("r{r}")).collect(),
                        incoming: (out..out + incoming).map(|r| format!("r{r}")).collect(),
                    }
                });
            let mentions = mentions
                .into_iter()
                .map(|text| Literal::plain(text).to_string())
                .collect();
            let types = vec!["rdf:type".to_owned()];
            Live {
                next_var,
                last_call: false,
                sets: sets.collect(),
                classes,
                types,
                values,
                mentions,
                ..Live::default()
            }
        })
}

/// Generates a random call; `choices` decides at every branching byte.
fn generate(acceptor: &CallAcceptor, choices: &mut impl Iterator<Item = u32>) -> String {
    let mut state = acceptor.start();
    let mut text = Vec::new();
    while !acceptor.may_end(&state) {
        let next: Vec<(u8, _)> = (0..=255u8)
            .filter_map(|byte| acceptor.step(&state, byte).map(|next| (byte, next)))
            .collect();
        assert!(
            !next.is_empty(),
            "a prefix that cannot be completed: {:?}",
            String::from_utf8_lossy(&text)
        );
        assert!(text.len() < 400, "a call without end");
        let pick = choices.next().unwrap_or(0) as usize % next.len();
        text.push(next[pick].0);
        state = next[pick].1.clone();
    }
    assert!(
        (0..=255u8).all(|byte| acceptor.step(&state, byte).is_none()),
        "text may follow a complete call"
    );
    String::from_utf8(text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn printed_calls_parse_back(call in call()) {
        prop_assert_eq!(parse_call(&call.to_string()).unwrap(), call);
    }

    #[test]
    fn printed_programs_parse_back(calls in vec(call(), 0..6)) {
        prop_assert_eq!(parse_program(&print_program(&calls)).unwrap(), calls);
    }

    #[test]
    fn any_text_that_is_read_is_printed_and_read_back(text in "\\PC{0,60}|[a-z_]{0,8}\\([v0-9, <>\"\\\\=~\\[\\]]{0,20}\\)?") {
        if let Ok(call) = parse_call(&text) {
            prop_assert_eq!(parse_call(&call.to_string()).unwrap(), call);
        }
        if let Ok(calls) = parse_program(&text) {
            prop_assert_eq!(parse_program(&print_program(&calls)).unwrap(), calls);
        }
    }

    #[test]
    fn accepted_calls_parse_and_print_the_same(live in live(), choices in vec(any::<u32>(), 80)) {
        let acceptor = CallAcceptor::new(live);
        let text = generate(&acceptor, &mut choices.into_iter());
        let call = parse_call(&text).unwrap();
        prop_assert_eq!(call.to_string(), text.clone());
        prop_assert!(acceptor.accepts(&text));
        for arg in &call.args {
            if let Arg::Var(index) = arg {
                let name = format!("v{index}");
                prop_assert!(acceptor.live().sets.iter().any(|set| set.text == name));
            }
        }
    }
}

#[test]
fn errors_name_position_and_remedy() {
    let error = parse_call("v0 = get_tails(e0, r1)").unwrap_err();
    assert_eq!(error.span.start, 5);
    assert!(error.message.contains("get_tail_entity"), "{error}");
    assert!(parse_call("v0 = count()").is_err());
    assert!(parse_call("v0 = get_entity_by_constraint(v0, r, argmax, 3)").is_err());
    assert!(parse_call("v0 = get_entity_by_constraint(v0, r, =)").is_err());
}

#[test]
fn relations_are_offered_in_their_direction_only() {
    let set = LiveSet {
        text: "e0".to_owned(),
        entity: true,
        out: vec!["r0".to_owned()],
        incoming: vec!["r1".to_owned()],
        ..LiveSet::default()
    };
    let acceptor = CallAcceptor::new(Live {
        sets: vec![set],
        ..Live::default()
    });
    assert!(acceptor.accepts("v0 = get_tail_entity(e0, r0)"));
    assert!(!acceptor.accepts("v0 = get_tail_entity(e0, r1)"));
    assert!(acceptor.accepts("v0 = get_head_entity(e0, r1)"));
    assert!(acceptor.accepts("v0 = get_entity_by_constraint(e0, ~r1, !=, e0)"));
    assert!(
        !acceptor.accepts("v0 = get_entity_by_constraint(e0, r0, <, e0)"),
        "entities have no order"
    );
    assert!(!acceptor.accepts("v1 = count(e0)"), "v0 comes first");
}

#[test]
fn where_nothing_is_live_only_the_empty_end_remains() {
    let acceptor = CallAcceptor::new(Live::default());
    assert_eq!(
        generate(&acceptor, &mut std::iter::repeat(0)),
        "ans = end([])"
    );
}

#[test]
fn the_last_call_can_only_end() {
    let set = LiveSet {
        text: "v0".to_owned(),
        out: vec!["a.b.c".to_owned()],
        ..LiveSet::default()
    };
    let live = Live {
        last_call: true,
        next_var: 1,
        sets: vec![set],
        classes: vec!["c0".to_owned()],
        ..Live::default()
    };
    let acceptor = CallAcceptor::new(live);
    assert_eq!(acceptor.continuations(&acceptor.start()), ["ans = end("]);
    assert!(acceptor.accepts("ans = end(v0)") && acceptor.accepts("ans = end([])"));
}

#[test]
fn spaces_between_calls_and_tabs_in_literals_are_read() {
    let calls = parse_program("v0 = count(e0) \t ; v1 = count(v0)  \r\nans = end(v1)").unwrap();
    assert_eq!(calls.len(), 3);
    let written = r#"v0 = get_entity_by_constraint(e0, a.b, =, "x\ty")"#;
    let call = parse_call(written).unwrap();
    assert_eq!(call.args[3], Arg::Literal(Literal::plain("x\ty")));
    assert_eq!(call.to_string(), written);
}

#[test]
fn sets_may_stand_in_brackets_as_in_the_paper() {
    let plain = parse_call("v0 = intersect(e0, e1)").unwrap();
    assert_eq!(parse_call("v0 = intersect([e0, e1])").unwrap(), plain);
    assert!(parse_call("v0 = intersect([e0])").is_err());
}

#[test]
fn a_number_with_a_leading_zero_is_no_index() {
    let call = parse_call("v0 = union(v01, e01)").unwrap();
    let names = ["v01", "e01"].map(|name| Arg::Name(name.to_owned()));
    assert_eq!(call.args, names);
    assert!(parse_call("v01 = count(e0)").is_err());
    assert!(parse_program("v0 = first(e0, 02)").is_err());
}

#[test]
fn names_that_look_like_other_arguments_stand_in_angle_brackets() {
    let like_variables = ["v3", "v3.k0", "e0", "r12", "c1", "x2", "m0"];
    let like_words = ["argmax", "argmin", "ans", "NOW", "!", "!=", "!x"];
    let like_literals = ["2011", "-5", "+5", "2.5", "2009-01-01", "1e5"];
    let with_delimiters = [
        "", "a b", "a,b", "a(b", "a[b]", "a=b", "~a", "a;b", "a\u{a0}b",
    ];
    for name in (like_variables.iter().chain(&like_words))
        .chain(&like_literals)
        .chain(&with_delimiters)
    {
        assert_eq!(print_name(name), format!("<{name}>"));
    }
    for (name, printed) in [
        ("a>b", r"<a\>b>"),
        ("a\\b", r"<a\\b>"),
        ("a\nb\r", r"<a\nb\r>"),
    ] {
        assert_eq!(print_name(name), printed);
    }
    for name in [
        "v", "w3", "v3a", "k0", "a.k0", "v3.x", "v3.k", "a!b", "2.", "-", "2011x", "é", "maximum",
    ] {
        assert_eq!(print_name(name), name);
        let call = parse_call(&format!("v0 = judge(e0, r, =, {name})")).unwrap();
        assert_eq!(call.args[3], Arg::Name(name.to_owned()));
    }
}

#[test]
fn a_literal_may_have_a_datatype_or_a_language() {
    let value = |text: &str| {
        let call = parse_call(&format!("v0 = judge(e0, r, =, {text})"));
        call.map(|call| call.args[3].clone())
    };
    let typed = |datatype: String| {
        Arg::Literal(Literal {
            datatype: Some(datatype),
            ..Literal::plain("5")
        })
    };
    for (text, datatype) in [
        (r#""5"^^xsd:integer"#, format!("{XSD}integer")),
        (r#""5"^^<http://e/metre>"#, "http://e/metre".to_owned()),
    ] {
        assert_eq!(value(text).unwrap(), typed(datatype), "{text}");
        assert_eq!(value(text).unwrap().to_string(), text);
    }
    let full = format!(r#""5"^^<{XSD}date>"#);
    assert_eq!(value(&full).unwrap().to_string(), r#""5"^^xsd:date"#);
    assert_eq!(value(r#""5"^^metre"#).unwrap(), typed("metre".to_owned()));
    let german = Literal {
        lang: Some("de".to_owned()),
        ..Literal::plain("5")
    };
    assert_eq!(value(r#""5"@DE"#).unwrap(), Arg::Literal(german));
    for bad in [r#""5"^^"#, r#""5"^^<>"#, r#""5"^^<http://e/metre"#] {
        assert!(value(bad).is_err(), "{bad}");
    }
    // Only literals escape tabs.
    assert_eq!(value(r"<a\tb>").unwrap(), Arg::Name("atb".to_owned()));
}

/// Tables of one column, `v0`, `v1`, …, and one of nine columns.
fn live_tables(narrow: usize) -> CallAcceptor {
    let table = |index: usize, width: usize| {
        let text = format!("v{index}");
        let columns = (0..width).map(|k| LiveColumn {
            text: format!("{text}.k{k}"),
            ..LiveColumn::default()
        });
        LiveTable {
            columns: columns.collect(),
            text: text.clone(),
            empty: false,
            stands_in: false,
        }
    };
    let mut tables: Vec<LiveTable> = (0..narrow).map(|index| table(index, 1)).collect();
    tables.push(table(narrow, MAX_SET_ARGS + 1));
    // A set, which stands for a table of one column.
    tables.push(LiveTable {
        stands_in: true,
        ..table(narrow + 1, 1)
    });
    CallAcceptor::new(Live {
        next_var: 20,
        extended: true,
        tables,
        ..Live::default()
    })
}

#[test]
fn a_union_takes_different_tables_of_one_width_up_to_the_limit() {
    let union = |places: &[usize]| {
        let names: Vec<String> = places.iter().map(|place| format!("v{place}")).collect();
        format!("v20 = union({})", names.join(", "))
    };
    let many = live_tables(MAX_SET_ARGS + 1);
    let all: Vec<usize> = (0..=MAX_SET_ARGS).collect();
    assert!(many.accepts(&union(&all[..MAX_SET_ARGS])));
    assert!(!many.accepts(&union(&all)));
    assert!(many.accepts(&union(&[8, 0])));
    let three = live_tables(3);
    assert!(three.accepts(&union(&[2, 0, 1])));
    // One table, one twice, one that is wider, one that is a set.
    for wrong in [
        &[0][..],
        &[0, 0],
        &[0, 1, 0],
        &[0, 3],
        &[3, 0],
        &[0, 4],
        &[4, 0],
    ] {
        assert!(!three.accepts(&union(wrong)), "{wrong:?}");
    }
    // A single table has no other to be united with.
    let one = live_tables(1);
    let first = one.continuations(&one.start());
    assert!(
        !first.iter().any(|text| text.contains("union")),
        "{first:?}"
    );
}

#[test]
fn each_column_is_named_once_up_to_the_limit() {
    let acceptor = live_tables(0);
    let columns = |keys: &[usize]| {
        let keys: Vec<String> = keys.iter().map(|key| format!("k{key}")).collect();
        format!("v20 = columns(v0, {})", keys.join(", "))
    };
    let all: Vec<usize> = (0..=MAX_SET_ARGS).collect();
    assert!(acceptor.accepts(&columns(&all[..MAX_SET_ARGS])));
    assert!(!acceptor.accepts(&columns(&all)));
    assert!(acceptor.accepts(&columns(&[8, 0])));
    assert!(!acceptor.accepts(&columns(&[8, 0, 8])));
    // A table of one column: a second word is another aggregate of it.
    let one = live_tables(1);
    assert!(one.accepts("v20 = columns(v0, k0)"));
    assert!(!one.accepts("v20 = columns(v0, k0, k0)"));
    assert!(one.accepts("v20 = group(v0, distinct k0, max k0, count, min k0, k0)"));
    assert!(!one.accepts("v20 = group(v0, sum k0)"));
}
