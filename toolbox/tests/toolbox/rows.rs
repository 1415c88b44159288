//! Tests of rows, unions of tables, values of variables, and evidence of rows (rules D.1, D.2), branch by
//! branch. The graph is that of `tables.rs`.

use toolbox::answer::Answer;
use toolbox::call::{CallAcceptor, ToolTable, parse_call, parse_program};
use toolbox::exec::{ExecOptions, Naming, Session, run_program};
use toolbox::link::Linked;

use crate::support::graph_of;
use crate::tables::{GRAPH, PERSONS, accepts, begin, of_persons, with_its_evidence};

/// The sorted rows of a program whose last variable is a table.
fn sorted(program: &str) -> Vec<String> {
    let mut rows = of_persons(program).unwrap_or_else(|error| panic!("{program}: {error}"));
    rows.sort();
    rows
}

fn error(program: &str) -> String {
    of_persons(program).unwrap_err().to_string()
}

/// Rule D.2: a row with an empty cell passes no test between columns.
#[test]
fn two_columns_are_compared_where_both_have_a_value() {
    let ages = "v1 = extend(v0, maybe <@age>); v2 = extend(v1.k0, maybe <@limit>); ";
    for (test, wanted) in [
        ("v2.k1, !=, v2.k2", &["ann | 30 | 20", "bob | 20 | 25"][..]),
        ("v2.k1, =, v2.k2", &[]),
        ("v2.k1, <, v2.k2", &["bob | 20 | 25"]),
        ("v2.k2, <, v2.k1", &["ann | 30 | 20"]),
        ("v2.k2, =, v2.k2", &["ann | 30 | 20", "bob | 20 | 25"]),
    ] {
        let program = format!("{ages}v3 = where({test}); ans = end(v3)");
        assert_eq!(sorted(&program), wanted, "{test}");
    }
    // Entities are equal or not, and have no order.
    let shops = "v1 = extend(v0, <@works>); v2 = extend(v1.k0, <@works>); ";
    for (op, rows) in [("=", 4), ("!=", 2), ("<", 0), (">=", 0)] {
        let program = format!("{shops}v3 = where(v2.k1, {op}, v2.k2); ans = end(v3)");
        assert_eq!(sorted(&program).len(), rows, "{op}");
    }
}

/// Rule D.2: what a column is compared with.
#[test]
fn a_variable_with_one_value_is_that_value() {
    let ages = "v1 = extend(v0, <@age>); ";
    let shops = "v1 = extend(v0, <@works>); ";
    let of_bob = "v2 = get_tail_entity(<@bob>, <@age>); ";
    let both = "v2 = get_tail_entity(v0, <@age>); ";
    for (program, wanted) in [
        (
            format!("{ages}{of_bob}v3 = where(v1.k1, >, v2)"),
            &["ann | 30"][..],
        ),
        (
            format!("{ages}{of_bob}v3 = where(v1.k1, !=, v2)"),
            &["ann | 30"],
        ),
        (
            format!("{ages}{both}v3 = where(v1.k1, =, v2)"),
            &["ann | 30", "bob | 20", "cat | 20"],
        ),
        (format!("{ages}{both}v3 = where(v1.k1, !=, v2)"), &[]),
        (
            format!("{shops}v2 = get_tail_entity(<@bob>, <@works>); v3 = where(v1.k1, !=, v2)"),
            &["ann | shop 2"],
        ),
        (
            format!("{shops}v2 = count(v0); v3 = where(v1.k1, =, <@shop2>)"),
            &["ann | shop 2"],
        ),
        // A column of another table is a set.
        (
            format!("{shops}v2 = extend(<@bob>, <@works>); v3 = where(v1.k1, !=, v2.k1)"),
            &["ann | shop 2"],
        ),
        (
            "v1 = extend(v0, <@born>); v2 = count(v0); v3 = where(v1.k1, >, NOW)".to_owned(),
            &[],
        ),
        (
            "v1 = extend(v0, <@born>); v2 = count(v0); v3 = where(v1.k1, <, NOW)".to_owned(),
            &["ann | 1980-05-01", "bob | 1991"],
        ),
    ] {
        assert_eq!(
            sorted(&format!("{program}; ans = end(v3)")),
            wanted,
            "{program}"
        );
    }
    let equal_only = "can be compared with = and != only";
    for (program, wanted) in [
        (
            format!("{ages}{both}v3 = where(v1.k1, >, v2)"),
            "v2 has 2 members",
        ),
        (
            format!("{ages}v2 = difference(v0, v0); v3 = where(v1.k1, >, v2)"),
            "v2 has 0 members",
        ),
        (
            format!("{shops}v2 = get_tail_entity(<@bob>, <@works>); v3 = where(v1.k1, <, v2)"),
            equal_only,
        ),
        (format!("{shops}v2 = where(v1.k1, <, <@shop1>)"), equal_only),
        (
            format!("{shops}v2 = extend(<@bob>, <@works>); v3 = where(v1.k1, <, v2.k1)"),
            equal_only,
        ),
        (
            format!(
                "{shops}v2 = extend(<@bob>, <@works>); v3 = columns(v2, k1); v4 = where(v1.k1, <, v3)"
            ),
            equal_only,
        ),
        (
            format!("{ages}v2 = columns(v1, k1); v3 = where(v1.k1, =, v2)"),
            "v2 has 3 rows and 1 columns",
        ),
        (
            format!("{ages}v2 = exists(v1); v3 = where(v1.k1, =, v2)"),
            "v2 is a number or a truth value",
        ),
        (format!("{ages}v2 = where(v1.k1, =, v7)"), "v7"),
    ] {
        let found = error(&format!("{program}; ans = end(v0)"));
        assert!(found.contains(wanted), "{program}: {found}");
    }
}

/// Rule D.2: a test on texts reads the labels of entities only in a column without texts.
#[test]
fn an_entity_among_texts_has_no_text() {
    let kg = graph_of(
        r#"@prefix : <http://e/> . :a :is "Porto" , "Oslo" , :porto ; :in :porto , :oslo , :portugal ."#,
    );
    let rows = |program: &str| {
        let options = ExecOptions {
            tools: ToolTable::Extended,
            ..ExecOptions::default()
        };
        let mut session = Session::new(&kg, "", Linked::default(), &[], options).unwrap();
        run_program(&mut session, &parse_program(program).unwrap()).unwrap();
        let mut rows = Answer::of(&session).texts();
        rows.sort();
        rows
    };
    let test = |relation: &str, test: &str| {
        rows(&format!(
            "v0 = extend(a, {relation}); v1 = where(v0.k1, {test}); v2 = columns(v1, k1); ans = end(v2)"
        ))
    };
    assert_eq!(test("is", "contains, \"PORT\""), ["Porto"]);
    assert_eq!(test("is", "ends, \"o\""), ["Oslo", "Porto"]);
    assert_eq!(test("in", "contains, \"port\""), ["porto", "portugal"]);
    assert_eq!(test("in", "starts, \"o\""), ["oslo"]);
    assert_eq!(test("in", "ends, \"o\""), ["oslo", "porto"]);
    // A computed value is its text; an empty cell has none.
    assert_eq!(
        rows("v0 = extend(a, in); v1 = count(v0); v2 = where(v1, starts, \"3\"); ans = end(v2)"),
        ["3"]
    );
    assert_eq!(
        rows(
            "v0 = extend([a, oslo], maybe in); v1 = where(v0.k1, contains, \"\"); v2 = count(v1); ans = end(v2)"
        ),
        ["3"]
    );
}

/// Rule D.2: a union has what all its tables have.
#[test]
fn columns_of_a_union_are_numbers_or_nodes_if_all_are() {
    let kg = graph_of(GRAPH);
    let mut session = begin(&kg, ToolTable::Extended);
    let program = "v1 = extend(v0, <http://e/age>); v2 = columns(v1, k1); v3 = extend(v0, <http://e/city>); v4 = columns(v3, k1); v5 = count(v0); v6 = columns(v5, k0); v7 = union(v2, v2); v8 = union(v2, v4); v9 = union(v2, v6); v10 = union(v6, v2)";
    for call in parse_program(&format!("{PERSONS}{program}")).unwrap() {
        session.run(&call).unwrap();
    }
    let live = session.live(Naming::Mixed);
    let numbers = |name: &str| {
        let table = live.tables.iter().find(|table| table.text == name);
        table.unwrap().columns[0].numbers
    };
    assert!(numbers("v7") && numbers("v9") && numbers("v10"));
    assert!(!numbers("v8"));
    let nodes = |name: &str| live.sets.iter().any(|set| set.text == format!("{name}.k0"));
    assert!(nodes("v7") && nodes("v8"));
    assert!(!nodes("v9") && !nodes("v10"));
    let call = parse_call("v11 = extend(v9.k0, <http://e/in>)").unwrap();
    let error = session.run(&call).unwrap_err().to_string();
    assert!(error.contains("computed"), "{error}");
}

/// Rule D.1: what calls may name.
#[test]
fn single_numbers_and_dates_may_be_compared_with_and_numbers_added() {
    let kg = graph_of(GRAPH);
    let mut session = begin(&kg, ToolTable::Extended);
    let program = [
        "v1 = count(v0)",
        // One number, one date, one entity, one text.
        "v2 = extend(<@bob>, <@age>)",
        "v3 = columns(v2, k1)",
        "v4 = extend(<@ann>, <@born>)",
        "v5 = columns(v4, k1)",
        "v6 = extend(<@bob>, <@works>)",
        "v7 = columns(v6, k1)",
        "v8 = extend(<@bob>, <@city>)",
        "v9 = columns(v8, k1)",
        // Several numbers, and a truth value.
        "v10 = get_tail_entity(v0, <@age>)",
        "v11 = columns(v10, k0)",
        "v12 = exists(v11)",
    ];
    let program = program.join("; ").replace('@', "http://e/");
    for call in parse_program(&format!("{PERSONS}{program}")).unwrap() {
        session.run(&call).unwrap();
    }
    let live = session.live(Naming::Mixed);
    assert_eq!(live.numbers, ["v1", "v3", "v5"]);
    assert_eq!(live.amounts, ["x0", "v1", "v3"]);
    assert_eq!(live.truths, ["v12"]);
    assert_eq!(live.sizes.len(), 11);
    assert_eq!(live.sizes[9..], ["10", "20"]);
    let acceptor = CallAcceptor::new(live);
    for (text, allowed) in [
        ("v13 = where(v2.k1, <, v3)", true),
        ("v13 = where(v4.k1, <, v5)", true),
        ("v13 = where(v6.k1, =, v7)", false),
        ("v13 = compute(v2.k1, +, v3)", true),
        ("v13 = compute(v2.k1, +, v5)", false),
        ("v13 = compute(v2.k1, +, v9)", false),
        ("v13 = compute(v8.k1, +, v3)", false),
    ] {
        assert_eq!(accepts(&acceptor, text), allowed, "{text}");
    }
}

/// The rows of an answer, each with its own triples.
fn of_rows(program: &str) -> Vec<(String, Vec<String>)> {
    let answer = with_its_evidence(program);
    let short = |text: String| {
        let text = text.replace("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "type");
        text.replace("http://e/", "")
    };
    let text = |&place: &usize| short(answer.evidence[place].text.join(" "));
    let own = answer.row_evidence.iter();
    let own = own.map(|row| {
        let mut texts: Vec<String> = row.iter().map(text).collect();
        texts.sort();
        texts
    });
    let mut rows: Vec<_> = answer.texts().into_iter().zip(own).collect();
    rows.sort();
    rows
}

/// Rule D.1: each row has the triples that it was made from.
#[test]
fn rows_of_each_kind_of_path_have_their_own_evidence() {
    for (program, row, wanted) in [
        (
            "v1 = extend(v0, maybe <@age>); ans = end(v1)",
            "ann | 30",
            &["ann age 30", "ann type Person"][..],
        ),
        (
            "v1 = extend(v0, maybe <@age>); ans = end(v1)",
            "dan | ",
            &["dan type Person"],
        ),
        // A path has every triple that it may have followed.
        (
            "v1 = extend(<@shop1>, + <@in>); ans = end(v1)",
            "shop 1 | land",
            &["land in north", "north in land", "shop 1 in north"],
        ),
        (
            "v1 = extend(<@north>, * ~<@in>); ans = end(v1)",
            "north | north",
            &["land in north", "north in land", "shop 1 in north"],
        ),
        (
            "v1 = extend(<@shop1>, ~<@works>); ans = end(v1)",
            "shop 1 | bob",
            &["bob works shop 1"],
        ),
        // A cell that equals a member of a set needs that member, and one that differs does not.
        (
            "v1 = extend(v0, <@works>); v2 = get_tail_entity(<@bob>, <@works>); v3 = where(v1.k1, =, v2); ans = end(v3)",
            "ann | shop 1",
            &["ann type Person", "ann works shop 1", "bob works shop 1"],
        ),
        (
            "v1 = extend(v0, <@works>); v2 = get_tail_entity(<@bob>, <@works>); v3 = where(v1.k1, !=, v2); ans = end(v3)",
            "ann | shop 2",
            &["ann type Person", "ann works shop 2"],
        ),
        // A row of a union has the triples of the table that has it.
        (
            "v1 = extend(<@ann>, <@age>); v2 = extend(<@bob>, <@age>); v3 = union(v1, v2); ans = end(v3)",
            "bob | 20",
            &["bob age 20"],
        ),
        (
            "v1 = extend(v0, <@age>); v2 = compute(v1.k1, +, 1); ans = end(v2)",
            "ann | 30 | 31",
            &["ann age 30", "ann type Person"],
        ),
        (
            "v1 = extend(v0, <@city>); v2 = columns(v1, k1); ans = end(v2)",
            "Porto",
            &["ann city Porto", "ann type Person"],
        ),
        // A part of a date is of the row whose date has it.
        (
            "v1 = extend(v0, <@born>); v2 = columns(v1, year k1); ans = end(v2)",
            "1991",
            &["bob born 1991", "bob type Person"],
        ),
        (
            "v1 = extend(v0, <@city>); v2 = group(v1, k1, count); ans = end(v2)",
            "Oslo | 2",
            &[
                "bob city Oslo",
                "bob type Person",
                "dan city Oslo",
                "dan type Person",
            ],
        ),
    ] {
        let rows = of_rows(program);
        let found = rows.iter().find(|(text, _)| text == row);
        let found = found.unwrap_or_else(|| panic!("{program}: {rows:?}"));
        assert_eq!(found.1, wanted, "{program}");
    }
}
