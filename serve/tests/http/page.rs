//! The page: its files, its security policy, and labels that look like markup.

use std::path::Path;

use crate::support::Running;

#[test]
fn the_page_is_served_with_a_strict_policy_and_nothing_foreign() {
    let server = Running::plain();
    let index = server.get("/");
    assert_eq!(
        (index.status, index.header("content-type")),
        (200, "text/html; charset=utf-8")
    );
    let policy = index.header("content-security-policy");
    assert!(
        policy.contains("default-src 'none'") && policy.contains("script-src 'self'"),
        "{policy}"
    );
    assert!(
        !policy.contains("unsafe") && !policy.contains("data:"),
        "{policy}"
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        if name != "index.html" {
            assert_eq!(server.get(&format!("/page/{name}")).body, text, "{name}");
        }
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            " style=\"",
            "onclick=\"",
        ] {
            assert!(!text.contains(word), "{name} has {word}");
        }
        let foreign = text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !foreign.contains("http://") && !foreign.contains("https://"),
            "{name} names a foreign host"
        );
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} files");
    assert!(!index.body.contains("<script>") && !index.body.contains("<style"));
    server
        .get("/page/nothing.js")
        .refused(404, "unknown_address");
    server
        .get("/page/..%2Findex.html")
        .refused(404, "unknown_address");
}

#[test]
fn the_metrics_count_what_happened() {
    let server = Running::plain();
    server.post("/api/ask", r#"{"question": "capital of peru?"}"#);
    server.post("/api/ask", r#"{"question": "colour of the number nine?"}"#);
    server.get("/sparql/demo?query=ASK%7B%7D");
    server.wait_for("kgagent_running 0");
    let text = server.get("/metrics").body;
    for line in [
        "kgagent_questions_total{outcome=\"answered\"} 1",
        "kgagent_questions_total{outcome=\"unanswered\"} 1",
        "kgagent_queries_total 1",
        "kgagent_queue_seconds_count 2",
    ] {
        assert!(text.lines().any(|own| own == line), "no {line} in\n{text}");
    }
}
