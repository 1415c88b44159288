//! Comparison of values (rules R8 to R13).

use kg::term::{Literal, QUANTITY};
use kg::value::*;
use proptest::prelude::*;

fn lit(text: &str) -> Literal {
    match text.split_once("^^") {
        Some((lexical, local)) => Literal::xsd(lexical, local),
        None => Literal::plain(text),
    }
}

#[test]
fn quantities_compare_within_their_unit() {
    let of = |text: &str| Literal {
        lexical: text.to_owned(),
        datatype: Some(QUANTITY.to_owned()),
        lang: None,
    };
    let holds = |tail: &str, op, value: &str| {
        compare(&of(tail), op, &Literal::plain(value), Kind::Quantity)
    };
    assert!(
        holds("1.70 metre", Op::Eq, "1.7 metre")
            && holds("10 metre", Op::Gt, "9.5 metre")
            && holds("-3 K", Op::Lt, "2 k")
    );
    assert!(
        !holds("10 metre", Op::Gt, "9 foot")
            && !holds("10 metre", Op::Ne, "9 foot")
            && !holds("10 metre", Op::Gt, "9")
    );
    let tails = [
        of("9 foot"),
        of("3 metre"),
        of("10 metre"),
        Literal::plain("tall"),
    ];
    let tails: Vec<&Literal> = tails.iter().collect();
    assert_eq!(Kind::majority(tails.iter().copied()), Kind::Quantity);
    assert_eq!(
        (extreme(&tails, Extreme::Max), extreme(&tails, Extreme::Min)),
        (Some(vec![2]), Some(vec![1]))
    );
    assert!(
        sort_key(&of("9 metre")) < sort_key(&of("10 metre"))
            && sort_key(&of("1.5 m")) < sort_key(&of("1.55 m"))
    );
    assert_eq!(
        (
            amount_in(&of("1.7  Metre"), "metre"),
            amount_in(&of("1.7 m"), "metre"),
            amount_in(&Literal::plain("1 m"), "m")
        ),
        (Some("1.7"), None, None)
    );
}

#[test]
fn operators_print_and_parse() {
    for op in Op::ALL {
        assert_eq!(op.to_string().parse::<Op>(), Ok(op));
    }
    assert_eq!("==".parse::<Op>(), Err(UnknownOp("==".to_owned())));
}

/// tail, operator, value, kind, holds
#[test]
fn comparisons() {
    let table = [
        ("2011-05-01^^date", Op::Eq, "2011", Kind::Time, true),
        ("2011^^gYear", Op::Eq, "2011-05-01", Kind::Time, true),
        ("2012^^gYear", Op::Ne, "2011", Kind::Time, true),
        ("2011-05-01^^date", Op::Gt, "2011", Kind::Time, false),
        ("2011-05-01^^date", Op::Ge, "2011", Kind::Time, true),
        ("2011^^gYear", Op::Ge, "2011-05-01", Kind::Time, false),
        ("2011^^gYear", Op::Le, "2011-05-01", Kind::Time, false),
        ("-0044-03-15^^date", Op::Lt, "-0043", Kind::Time, true),
        ("-0044^^gYear", Op::Gt, "-0100", Kind::Time, true),
        ("50000^^integer", Op::Gt, "50000", Kind::Int, false),
        ("50000^^integer", Op::Eq, "5e4", Kind::Int, true),
        (
            "9007199254740993^^integer",
            Op::Gt,
            "9007199254740992",
            Kind::Int,
            true,
        ),
        (
            "0.30000000000000004^^double",
            Op::Eq,
            "0.3",
            Kind::Float,
            false,
        ),
        ("10", Op::Lt, "9", Kind::Text, true),
        ("10", Op::Lt, "9", Kind::Int, false),
        (
            "Young_Forrest",
            Op::Eq,
            "\"young  forrest\"@en",
            Kind::Text,
            true,
        ),
        ("n/a", Op::Ne, "5", Kind::Int, false),
        ("5^^integer", Op::Ne, "n/a", Kind::Int, false),
        ("2011^^gYear", Op::Eq, "\"2011\"", Kind::Time, true),
    ];
    for (tail, op, value, kind, holds) in table {
        assert_eq!(
            compare(&lit(tail), op, &lit(value), kind),
            holds,
            "{tail} {op} {value} as {kind:?}"
        );
    }
}

#[test]
fn the_kind_is_that_of_most_tails() {
    let kind = |tails: &[&str]| Kind::majority(&tails.iter().map(|t| lit(t)).collect::<Vec<_>>());
    assert_eq!(kind(&[]), Kind::Text);
    assert_eq!(kind(&["1^^integer", "2^^long", "x"]), Kind::Int);
    assert_eq!(kind(&["1^^integer", "2.5^^double"]), Kind::Float);
    assert_eq!(
        kind(&["2011^^gYear", "2011-01-01^^date", "1^^integer"]),
        Kind::Time
    );
    assert_eq!(kind(&["10", "9"]), Kind::Int);
    assert_eq!(kind(&["10", "9.5"]), Kind::Float);
    assert_eq!(kind(&["10", "nine"]), Kind::Text);
    // Days without a datatype, but not what only begins like one, and no years.
    assert_eq!(kind(&["1957-01-18", "2011-05-01 10:30:00"]), Kind::Time);
    assert_eq!(kind(&["1957-01-18", "unknown"]), Kind::Text);
    assert_eq!(kind(&["1957-13-18"]), Kind::Text);
    assert_eq!(kind(&["1957-01-18^^string"]), Kind::Text);
    assert_eq!(kind(&["1957", "1958"]), Kind::Int);
}

#[test]
fn extremes_keep_ties_and_ignore_what_does_not_parse() {
    let best = |tails: &[&str], wanted| {
        let tails: Vec<Literal> = tails.iter().map(|t| lit(t)).collect();
        extreme(&tails.iter().collect::<Vec<_>>(), wanted)
    };
    assert_eq!(best(&["9", "10", "10.0"], Extreme::Max), Some(vec![1, 2]));
    assert_eq!(
        best(
            &["9^^integer", "unknown^^integer", "8^^integer"],
            Extreme::Min
        ),
        Some(vec![2])
    );
    assert_eq!(
        best(
            &["-0100^^gYear", "0014^^gYear", "-0044^^gYear"],
            Extreme::Max
        ),
        Some(vec![1])
    );
    assert_eq!(
        best(&["-0100^^gYear", "-0044^^gYear"], Extreme::Max),
        Some(vec![1])
    );
    assert_eq!(
        best(
            &["-0100^^gYear", "-0044^^gYear", "2001^^gYear"],
            Extreme::Min
        ),
        Some(vec![0])
    );
    assert_eq!(best(&["x^^integer"], Extreme::Max), None);
    assert_eq!(best(&[], Extreme::Max), None);
    assert_eq!(best(&["b", "a"], Extreme::Min), Some(vec![1]));
}

#[test]
fn intervals_overlap_and_missing_bounds_are_open() {
    let holds = |from: &[&str], to: &[&str], value: &str| {
        let all = |tails: &[&str]| tails.iter().map(|t| lit(t)).collect::<Vec<_>>();
        interval_contains(&all(from), &all(to), &lit(value))
    };
    assert!(holds(&["2008"], &["2012"], "2010"));
    assert!(
        holds(&["2010-06-01"], &[], "2010")
            && holds(&[], &["2010-06-01"], "2010")
            && holds(&[], &[], "2010")
    );
    assert!(!holds(&["2011"], &[], "2010") && !holds(&[], &["2009-12-31"], "2010"));
    assert!(!holds(&["soon"], &[], "2010") && !holds(&[], &[], "soon"));
    assert!(holds(&["2011", "2009"], &[], "2010"));
}

fn numbers() -> impl Strategy<Value = Literal> {
    "-?[0-9]{1,25}(\\.[0-9]{1,4})?".prop_map(|t| Literal::xsd(t, "decimal"))
}

fn times() -> impl Strategy<Value = Literal> {
    "-?(00|19|20)[0-9]{2}(-0[1-9](-[12][0-8](T1[0-9]:[0-5][0-9]:[0-5][0-9])?)?)?"
        .prop_map(|t| Literal::xsd(t, "dateTime"))
}

fn timeless_pair() -> impl Strategy<Value = (Literal, Literal, Kind)> {
    prop_oneof![
        (numbers(), numbers()).prop_map(|(a, b)| (a, b, Kind::Float)),
        ("[a-cA-C_ ]{0,4}", "[a-cA-C_ ]{0,4}").prop_map(|(a, b)| (
            Literal::plain(a),
            Literal::plain(b),
            Kind::Text
        )),
    ]
}

fn any_pair() -> impl Strategy<Value = (Literal, Literal, Kind)> {
    prop_oneof![
        timeless_pair(),
        (times(), times()).prop_map(|(a, b)| (a, b, Kind::Time))
    ]
}

proptest! {
    #[test]
    fn trichotomy_of_numbers_and_texts((a, b, kind) in timeless_pair()) {
        let held = [Op::Lt, Op::Eq, Op::Gt].iter().filter(|op| compare(&a, **op, &b, kind)).count();
        prop_assert_eq!(held, 1);
        prop_assert_eq!(compare(&a, Op::Le, &b, kind), !compare(&a, Op::Gt, &b, kind));
        prop_assert_eq!(compare(&a, Op::Ge, &b, kind), !compare(&a, Op::Lt, &b, kind));
    }

    #[test]
    fn laws_of_every_kind((a, b, kind) in any_pair()) {
        prop_assert_eq!(compare(&a, Op::Ne, &b, kind), !compare(&a, Op::Eq, &b, kind));
        prop_assert_eq!(compare(&a, Op::Eq, &b, kind), compare(&b, Op::Eq, &a, kind));
        prop_assert_eq!(compare(&a, Op::Lt, &b, kind), compare(&b, Op::Gt, &a, kind));
        prop_assert!(!compare(&a, Op::Lt, &b, kind) || (compare(&a, Op::Le, &b, kind) && compare(&a, Op::Ne, &b, kind)));
        prop_assert!(!compare(&a, Op::Gt, &b, kind) || (compare(&a, Op::Ge, &b, kind) && compare(&a, Op::Ne, &b, kind)));
        prop_assert!(compare(&a, Op::Eq, &a, kind));
        // At most one of before, equal and after holds: calendar spans that overlap contain each
        // other.
        let held = [Op::Lt, Op::Eq, Op::Gt].iter().filter(|op| compare(&a, **op, &b, kind)).count();
        prop_assert_eq!(held, 1);
    }

    #[test]
    fn spans_compare_as_rule_r10_says(a in (-9i128..9, 0i128..5), b in (-9i128..9, 0i128..5)) {
        let (t, v) = (TimeSpan { lo: a.0, hi: a.0 + a.1 }, TimeSpan { lo: b.0, hi: b.0 + b.1 });
        let inside = |x: TimeSpan, y: TimeSpan| (x.lo..=x.hi).all(|m| (y.lo..=y.hi).contains(&m));
        prop_assert_eq!(compare_spans(t, Op::Eq, v), inside(t, v) || inside(v, t));
        prop_assert_eq!(compare_spans(t, Op::Lt, v), (t.lo..=t.hi).all(|x| (v.lo..=v.hi).all(|y| x < y)));
        prop_assert_eq!(compare_spans(t, Op::Gt, v), (t.lo..=t.hi).all(|x| (v.lo..=v.hi).all(|y| x > y)));
        prop_assert_eq!(compare_spans(t, Op::Le, v), (t.lo..=t.hi).all(|x| x <= v.hi));
        prop_assert_eq!(compare_spans(t, Op::Ge, v), (t.lo..=t.hi).all(|x| x >= v.lo));
    }

    #[test]
    fn extremes_are_extreme(tails in proptest::collection::vec(numbers(), 1..9)) {
        let refs: Vec<&Literal> = tails.iter().collect();
        for (wanted, op) in [(Extreme::Max, Op::Gt), (Extreme::Min, Op::Lt)] {
            let best = extreme(&refs, wanted).unwrap();
            prop_assert!(!best.is_empty());
            for (i, tail) in tails.iter().enumerate() {
                prop_assert!(!compare(tail, op, &tails[best[0]], Kind::Float));
                prop_assert_eq!(best.contains(&i), compare(tail, Op::Eq, &tails[best[0]], Kind::Float));
            }
        }
    }

    #[test]
    fn sort_keys_sort_as_values((a, b) in (numbers(), numbers())) {
        prop_assert_eq!(sort_key(&a) < sort_key(&b), compare(&a, Op::Lt, &b, Kind::Float));
    }
}
