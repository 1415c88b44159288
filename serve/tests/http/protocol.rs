//! The query part of the W3C's test suite of the SPARQL 1.1 Protocol, case by case, in our own words. Most
//! of its requests choose a dataset. Here the address names the graph, so those are refused, as the
//! protocol allows, and the rest of the case is tested without that choice.

use crate::support::{Reply, Running, quoted};

const QUERY: &str = "application/sparql-query";
const FORM: &str = "application/x-www-form-urlencoded";

struct Endpoint(Running);

impl Endpoint {
    fn get(&self, parameters: &str) -> Reply {
        self.0.get(&format!("/sparql/demo?{parameters}"))
    }

    fn post(&self, parameters: &str, kind: Option<&str>, body: &[u8]) -> Reply {
        let path = format!("/sparql/demo?{parameters}");
        let kind: Vec<(&str, &str)> = kind
            .map(|kind| ("Content-Type", kind))
            .into_iter()
            .collect();
        self.0.send_bytes("POST", &path, &kind, body)
    }
}

fn kind(reply: &Reply) -> (u16, &str) {
    (reply.status, reply.header("content-type"))
}

#[test]
fn query_get_and_query_post_form_and_query_post_direct() {
    let endpoint = Endpoint(Running::plain());
    let ask = format!("query={}", quoted("ASK {}"));
    for reply in [
        endpoint.get(&ask),
        endpoint.post("", Some(FORM), ask.as_bytes()),
        endpoint.post("", Some(QUERY), b"ASK {}"),
        // Forms of other servers send an empty choice.
        endpoint.get(&format!("{ask}&default-graph-uri=&named-graph-uri=")),
    ] {
        assert_eq!(kind(&reply), (200, "application/sparql-results+json"));
        assert_eq!(reply.json()["boolean"], true);
    }
}

#[test]
fn query_content_types() {
    let endpoint = Endpoint(Running::plain());
    for (query, media_type, body) in [
        (
            "SELECT (1 AS ?value) {}",
            "application/sparql-results+json",
            "\"value\":\"1\"",
        ),
        (
            "ASK {}",
            "application/sparql-results+json",
            "\"boolean\":true",
        ),
        (
            "DESCRIBE <http://kgagent.example/peru>",
            "application/n-triples",
            "<http://kgagent.example/peru> <http://kgagent.example/location.country.capital> <http://kgagent.example/lima> .",
        ),
        // Relative addresses begin at the graph's.
        (
            "CONSTRUCT { <s> <p> 1 } WHERE {}",
            "application/n-triples",
            "<http://localhost/sparql/s> <http://localhost/sparql/p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .",
        ),
    ] {
        let reply = endpoint.post("", Some(QUERY), query.as_bytes());
        assert_eq!(kind(&reply), (200, media_type), "{query}");
        assert!(reply.body.contains(body), "{query}: {}", reply.body);
    }
    let nothing = endpoint.post("", Some(QUERY), b"DESCRIBE <http://example.org/>");
    assert_eq!((kind(&nothing).0, nothing.body.as_str()), (200, ""));
}

/// default_graphs, named_graphs, full, multiple_dataset; by GET and by POST.
#[test]
fn datasets_are_refused_where_there_are_no_named_graphs() {
    let endpoint = Endpoint(Running::plain());
    let ask = format!("query={}", quoted("ASK {}"));
    let one = format!("default-graph-uri={}", quoted("http://example.org/1"));
    let two = format!("{one}&default-graph-uri={}", quoted("http://example.org/2"));
    let named = two.replace("default", "named");
    let full = format!("{one}&{named}");
    for dataset in [&one, &two, &named, &full] {
        for reply in [
            endpoint.get(&format!("{ask}&{dataset}")),
            endpoint.post(dataset, Some(QUERY), b"ASK {}"),
            endpoint.post(dataset, Some(QUERY), b"ASK FROM <http://example.org/3> {}"),
            endpoint.post(dataset, Some(FORM), ask.as_bytes()),
            endpoint.post("", Some(FORM), format!("{ask}&{dataset}").as_bytes()),
        ] {
            reply.refused(400, "dataset");
        }
    }
}

#[test]
fn a_request_chooses_its_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let (data, graph) = (folder.path().join("g.trig"), folder.path().join("graph"));
    let text = "@prefix : <http://e.test/> . :a :p 0 . :g1 { :a :p 1 } :g2 { :a :p 2 }";
    std::fs::write(&data, text).unwrap();
    kg::GraphFolder::load(&graph, &[data], &kg::LoadOptions::default(), &|_| {}).unwrap();
    let options = serve::ServiceOptions {
        graphs: vec![("named".to_owned(), graph)],
        ..crate::support::options()
    };
    let server = Running::start(options, serve::AccessRules::default());
    let select = "SELECT ?v { ?s ?p ?v } ORDER BY ?v";
    let one = format!("default-graph-uri={}", quoted("http://e.test/g1"));
    let two = format!("{one}&default-graph-uri={}", quoted("http://e.test/g2"));
    let named = format!("named-graph-uri={}", quoted("http://e.test/g2"));
    let csv = ("Accept", "text/csv");
    let values = |query: &str, dataset: &str| {
        let query = quoted(query);
        let got = server.send(
            "GET",
            &format!("/sparql/named?query={query}&{dataset}"),
            &[csv],
            "",
        );
        let form = format!("query={query}&{dataset}");
        let posted = server.send(
            "POST",
            "/sparql/named",
            &[("Content-Type", FORM), csv],
            &form,
        );
        assert_eq!((got.status, &got.body), (200, &posted.body), "{form}");
        assert_eq!(got.header("kgagent-note"), "");
        got.body
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(values(select, ""), "0 1 2");
    assert_eq!(values(select, &one), "1");
    assert_eq!(values(select, &two), "1 2");
    assert_eq!(values(select, &named), "");
    let from = "SELECT ?v FROM <http://e.test/g2> { ?s ?p ?v }";
    assert_eq!(values(from, ""), "2");
    assert_eq!(values(from, &one), "1");
    let inside = "SELECT ?v { GRAPH ?g { ?s ?p ?v } } ORDER BY ?v";
    assert_eq!(values(inside, ""), "1 2");
    assert_eq!(values(inside, &named), "2");
    let bad = format!(
        "/sparql/named?query={}&default-graph-uri=no%20iri",
        quoted(select)
    );
    server.get(&bad).refused(400, "dataset");
}

#[test]
fn a_note_says_that_from_has_no_effect() {
    let server = Running::plain();
    let ask = quoted("ASK FROM <http://dbpedia.org> { ?a ?b ?c }");
    let reply = server.get(&format!("/sparql/demo?query={ask}"));
    assert_eq!(reply.json()["boolean"], true);
    assert!(reply.header("kgagent-note").contains("FROM has no effect"));
}

#[test]
fn rdf_xml_is_served_or_refused_with_the_term() {
    let server = Running::plain();
    let send = |query: &str, accept: &str| {
        let headers = [("Content-Type", QUERY), ("Accept", accept)];
        server.send("POST", "/sparql/demo", &headers, query)
    };
    let describe = "DESCRIBE <http://kgagent.example/peru>";
    for accept in [
        "application/rdf+xml",
        "text/turtle;q=0.5, application/rdf+xml",
        "text/xml",
    ] {
        let reply = send(describe, accept);
        assert_eq!(kind(&reply), (200, "application/rdf+xml"), "{accept}");
        assert!(
            reply.body.contains("<rdf:RDF") && reply.body.contains("lima"),
            "{}",
            reply.body
        );
    }
    let odd = "CONSTRUCT { ?x <http://e.test/9> 1 } WHERE { ?x ?p ?o } LIMIT 1";
    let refused = send(odd, "application/rdf+xml");
    refused.refused(406, "not_acceptable");
    assert!(
        refused.body.contains("<http://e.test/9>"),
        "{}",
        refused.body
    );
}

#[test]
fn bad_queries() {
    let endpoint = Endpoint(Running::plain());
    let ask = quoted("ASK {}");
    let method = endpoint.0.send(
        "PUT",
        &format!("/sparql/demo?query={ask}"),
        &[("Content-Type", FORM)],
        "",
    );
    method.refused(405, "method");
    assert_eq!(method.header("allow"), "GET,HEAD,POST");
    let more = quoted("SELECT * {}");
    let twice = format!("query={ask}&query={more}");
    endpoint.get(&twice).refused(400, "parameter");
    let post = |kind, body: &[u8]| endpoint.post("", kind, body);
    post(Some(FORM), twice.as_bytes()).refused(400, "parameter");
    let both = endpoint.post(&format!("query={more}"), Some(QUERY), b"ASK {}");
    both.refused(400, "parameter");
    post(Some("text/plain"), b"ASK {}").refused(415, "media_type");
    post(None, format!("query={ask}").as_bytes()).refused(400, "media_type");
    post(None, b"ASK {}").refused(400, "media_type");
    let wide: Vec<u8> = "ASK {}".encode_utf16().flat_map(u16::to_be_bytes).collect();
    post(Some("application/sparql-query; charset=UTF-16"), &wide).refused(400, "syntax");
    let marked = [&[0xfe, 0xff], &wide[..]].concat();
    post(Some("application/sparql-query; charset=UTF-16"), &marked).refused(400, "body");
    endpoint
        .get(&format!("query={}", quoted("ASK {")))
        .refused(400, "syntax");
    endpoint.get("").refused(400, "parameter");
    post(Some(FORM), b"").refused(400, "parameter");
    post(Some(QUERY), b"").refused(400, "syntax");
}

/// The cases of updates end before anything is changed: there is nothing that could be.
#[test]
fn updates_are_refused() {
    let endpoint = Endpoint(Running::plain());
    let update = "update=CLEAR%20ALL";
    endpoint.get(update).refused(400, "update");
    let post = |kind, body: &str| endpoint.post("", Some(kind), body.as_bytes());
    post(FORM, update).refused(400, "update");
    post("application/sparql-update", "CLEAR ALL").refused(403, "update");
    post("text/plain", "CLEAR ALL").refused(415, "media_type");
    post(QUERY, "CLEAR ALL").refused(400, "syntax");
}
