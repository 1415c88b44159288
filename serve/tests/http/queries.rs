//! The SPARQL protocol, and looking into a graph.

use serde_json::json;

use crate::support::{Running, quoted};

const LIMA: &str = "SELECT ?x WHERE { <http://kgagent.example/peru> <http://kgagent.example/location.country.capital> ?x }";
const QUERY: (&str, &str) = ("Content-Type", "application/sparql-query");

#[test]
fn a_query_may_come_in_three_ways() {
    let server = Running::plain();
    let form = (
        "Content-Type",
        "application/x-www-form-urlencoded; charset=utf-8",
    );
    for reply in [
        server.get(&format!("/sparql/demo?query={}", quoted(LIMA))),
        server.send(
            "POST",
            "/sparql/demo",
            &[form],
            &format!("query={}", quoted(LIMA)),
        ),
        server.send("POST", "/sparql/demo", &[QUERY], LIMA),
        // Clients send the parameters of other servers as well.
        server.get(&format!("/sparql/demo?format=json&query={}", quoted(LIMA))),
    ] {
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, "application/sparql-results+json")
        );
        assert_eq!(
            reply.json()["results"]["bindings"],
            json!([{ "x": { "type": "uri", "value": "http://kgagent.example/lima" } }])
        );
    }
}

#[test]
fn results_come_in_the_accepted_format() {
    let server = Running::plain();
    for (accept, media_type, body) in [
        (
            "text/csv",
            "text/csv",
            "x\r\nhttp://kgagent.example/lima\r\n",
        ),
        (
            "text/tab-separated-values",
            "text/tab-separated-values",
            "?x\n<http://kgagent.example/lima>\n",
        ),
        (
            "text/html, application/sparql-results+xml;q=0.9, */*;q=0.1",
            "application/sparql-results+xml",
            "<uri>http://kgagent.example/lima</uri>",
        ),
        (
            "*/*",
            "application/sparql-results+json",
            "http://kgagent.example/lima",
        ),
        ("text/*", "text/csv", "x\r\nhttp://kgagent.example/lima\r\n"),
    ] {
        let reply = server.send("POST", "/sparql/demo", &[QUERY, ("Accept", accept)], LIMA);
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, media_type),
            "{accept}"
        );
        assert!(reply.body.contains(body), "{accept}: {}", reply.body);
    }
    let construct = format!(
        "CONSTRUCT {{ ?x <http://e/of> <http://e/peru> }} {}",
        &LIMA[10..]
    );
    let lines = "<http://kgagent.example/lima> <http://e/of> <http://e/peru> .\n";
    let turtle = "@prefix n0: <http://e/> .\n<http://kgagent.example/lima> n0:of n0:peru .\n";
    for (accept, media_type, body) in [
        ("*/*", "application/n-triples", lines),
        ("text/turtle", "text/turtle", turtle),
    ] {
        let headers = [QUERY, ("Accept", accept)];
        let reply = server.send("POST", "/sparql/demo", &headers, &construct);
        assert_eq!(reply.header("content-type"), media_type);
        assert_eq!(reply.body, body);
    }
    let headers = [QUERY, ("Accept", "text/csv")];
    let reply = server.send("POST", "/sparql/demo", &headers, &construct);
    reply.refused(406, "not_acceptable");
    let reply = server.send("POST", "/sparql/demo", &[QUERY], "ASK { ?a ?b ?c }");
    assert_eq!(reply.json()["boolean"], true);
}

#[test]
fn a_query_that_is_not_answered_is_refused_with_the_reason() {
    let server = Running::plain();
    let post =
        |headers: &[(&str, &str)], body: &str| server.send("POST", "/sparql/demo", headers, body);
    post(
        &[QUERY],
        "SELECT * { SERVICE <http://example.org/> { ?a ?b ?c } }",
    )
    .refused(400, "refused");
    post(&[QUERY, ("Accept", "text/html")], LIMA).refused(406, "not_acceptable");
    server
        .get("/sparql/other?query=ASK%7B%7D")
        .refused(404, "unknown_graph");
}

#[test]
fn names_are_completed_and_found_with_errors() {
    let server = Running::plain();
    let found = |text: &str| {
        let reply = server
            .get(&format!(
                "/api/graphs/demo/search?limit=5&q={}",
                quoted(text)
            ))
            .json();
        let results = reply["results"].as_array().unwrap().clone();
        results
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for (text, name) in [
        ("Lis", "lisbon"),
        ("Lisbon", "lisbon"),
        ("lisbno", "lisbon"),
        ("ronal", "cristiano_ronaldo"),
        ("Cristiano Ron", "cristiano_ronaldo"),
    ] {
        assert!(
            found(text).iter().any(|one| one == name),
            "{text}: {:?}",
            found(text)
        );
    }
    assert_eq!(found("Lisbon")[0], "lisbon");
    assert!(found("zzzzqqq").is_empty());
}

#[test]
fn a_graph_can_be_looked_into() {
    let server = Running::plain();
    let graphs = server.get("/api/graphs").json();
    assert_eq!(graphs["graphs"][0]["name"], "demo");
    assert_eq!(
        server.get("/api/agents").json(),
        json!({ "models": [], "without_model": ["words", "retrieval", "tog"], "feedback": false })
    );
    let peru = server.get("/api/graphs/demo/entity?id=peru").json();
    assert_eq!(
        (&peru["label"], &peru["literal"]),
        (&json!("Peru"), &json!(false))
    );
    let out = peru["out"].as_array().unwrap();
    let capital = out
        .iter()
        .find(|row| row["relation"]["name"] == "location.country.capital")
        .unwrap();
    assert_eq!(
        (&capital["count"], &capital["nodes"][0]["label"]),
        (&json!(1), &json!("Lima"))
    );
    let iri = quoted("http://kgagent.example/peru");
    assert_eq!(
        server
            .get(&format!("/api/graphs/demo/entity?id={iri}"))
            .json(),
        peru
    );
    let page = |offset: usize| {
        let path = "/api/graphs/demo/entity?id=portugal&relation=location.city.country&direction=in&limit=2";
        server.get(&format!("{path}&offset={offset}")).json()
    };
    let (first, second) = (page(0), page(2));
    assert!(first["count"].as_u64().unwrap() > 4);
    assert_eq!(
        (
            first["nodes"].as_array().unwrap().len(),
            second["nodes"].as_array().unwrap().len()
        ),
        (2, 2)
    );
    assert_ne!(first["nodes"], second["nodes"]);
    let stint = server.get("/api/graphs/demo/entity?id=s0003").json();
    assert!(
        stint["says"]
            .as_str()
            .unwrap()
            .contains("Portugal national team"),
        "{stint}"
    );
    let schema = server.get("/api/graphs/demo/schema?limit=3").json();
    assert_eq!(schema["relations"].as_array().unwrap().len(), 3);
    assert!(schema["relations_in_all"].as_u64().unwrap() > 60);
}

#[test]
fn bad_parameters_are_refused_with_the_reason() {
    let server = Running::plain();
    for (path, status, code) in [
        ("/api/graphs/other/search?q=a", 404, "unknown_graph"),
        ("/api/graphs/demo/search", 400, "parameter"),
        ("/api/graphs/demo/search?q=", 400, "parameter"),
        ("/api/graphs/demo/search?q=a&q=b", 400, "parameter"),
        ("/api/graphs/demo/search?q=a&size=3", 400, "parameter"),
        ("/api/graphs/demo/search?q=a&limit=-1", 400, "parameter"),
        ("/api/graphs/demo/search?q=a&limit=501", 400, "parameter"),
        ("/api/graphs/demo/entity", 400, "parameter"),
        ("/api/graphs/demo/entity?id=nowhere", 404, "unknown_entity"),
        (
            "/api/graphs/demo/entity?id=peru&relation=lima",
            404,
            "unknown_relation",
        ),
        (
            "/api/graphs/demo/entity?id=peru&direction=up",
            400,
            "parameter",
        ),
        ("/api/graphs/demo/schema?offset=x", 400, "parameter"),
    ] {
        server.get(path).refused(status, code);
    }
    let long = format!("/api/graphs/demo/search?q={}", "a".repeat(201));
    server.get(&long).refused(400, "too_long");
}
