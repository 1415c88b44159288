//! Who may ask: host, origin, token, sizes; and where the server may listen.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use serve::{AccessRules, ServeError, Server, Service, ServiceOptions};

use crate::support::{Running, options};

const TOKEN: &str = "a-token-of-some-length";

#[test]
fn another_host_is_refused() {
    let access = AccessRules {
        hosts: vec!["kg.example.org".to_owned()],
        ..AccessRules::default()
    };
    let server = Running::start(options(), access);
    let status = |host: &str| {
        server
            .send("GET", "/api/graphs", &[("Host", host)], "")
            .status
    };
    for host in [
        "localhost",
        "localhost:8765",
        "127.0.0.1:1",
        "[::1]:8765",
        "KG.example.org",
    ] {
        assert_eq!(status(host), 200, "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example:8765",
        "kg.example.org.evil.example",
        "",
    ] {
        server
            .send("GET", "/api/graphs", &[("Host", host)], "")
            .refused(403, "host");
    }
}

#[test]
fn pages_of_other_sites_are_refused() {
    let server = Running::plain();
    let own = format!("http://{}", server.address);
    assert_eq!(
        server
            .send("GET", "/api/graphs", &[("Origin", &own)], "")
            .status,
        200
    );
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", ""] {
        server
            .send("GET", "/api/graphs", &[("Origin", origin)], "")
            .refused(403, "origin");
    }
    let reply = server.get("/api/graphs");
    assert_eq!(reply.header("access-control-allow-origin"), "");
}

/// What browsers say of a request.
fn fetched<'a>(site: &'a str, mode: &'a str, destination: &'a str) -> [(&'a str, &'a str); 3] {
    [
        ("Sec-Fetch-Site", site),
        ("Sec-Fetch-Mode", mode),
        ("Sec-Fetch-Dest", destination),
    ]
}

#[test]
fn pictures_frames_and_links_of_other_sites_are_refused() {
    let server = Running::plain();
    let query = "/sparql/demo?query=ASK%7B%7D";
    let question = "/text2sparql?dataset=demo&question=capital%20of%20peru";
    let paths = [
        query,
        question,
        "/api/graphs",
        "/page/main.js",
        "/livez",
        "/openapi.json",
    ];
    for path in paths {
        for site in ["cross-site", "same-site", "something-new", ""] {
            for (mode, destination) in [
                ("no-cors", "image"),
                ("no-cors", "script"),
                ("no-cors", "style"),
                ("no-cors", "empty"),
                ("navigate", "iframe"),
                ("navigate", "document"),
                ("websocket", "websocket"),
            ] {
                let headers = fetched(site, mode, destination);
                server
                    .send("GET", path, &headers, "")
                    .refused(403, "origin");
            }
        }
        // The page itself, a bookmark, and a program that is no browser.
        for headers in [
            &fetched("same-origin", "cors", "empty")[..],
            &fetched("none", "navigate", "document"),
            &[],
        ] {
            assert_eq!(server.send("GET", path, headers, "").status, 200, "{path}");
        }
        // Old browsers name only the page that they come from.
        let own = format!("http://{}/", server.address);
        let from = |page: &str| server.send("GET", path, &[("Referer", page)], "");
        assert_eq!(from(&own).status, 200);
        for page in ["http://evil.example/", "http://127.0.0.1:1/", "about:blank"] {
            from(page).refused(403, "origin");
        }
    }
    let answered = "kgagent_questions_total{outcome=\"answered\"} 4";
    server.wait_for(answered);
    server.wait_for("kgagent_queries_total 4");
    // A link of another site may open the page, but no frame may show it.
    let link = fetched("cross-site", "navigate", "document");
    assert_eq!(server.send("GET", "/", &link, "").status, 200);
    assert_eq!(
        server
            .send("GET", "/", &[("Referer", "http://a.example/")], "")
            .status,
        200
    );
    for (mode, destination) in [
        ("navigate", "iframe"),
        ("no-cors", "image"),
        ("navigate", ""),
    ] {
        let headers = fetched("cross-site", mode, destination);
        server.send("GET", "/", &headers, "").refused(403, "origin");
    }
    // What a page of another site gets in spite of all this, its browser does not show it.
    let refused = server.send("GET", query, &link, "");
    for reply in [server.get("/"), server.get(query), refused] {
        for (name, value) in [
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(reply.header(name), value, "{name}");
        }
    }
}

#[test]
fn an_address_of_another_machine_leads_here_only_with_a_token() {
    let server = Running::plain();
    let status = |server: &Running, host: &str| {
        let reply = server.send("GET", "/api/graphs", &[("Host", host)], "");
        reply.status
    };
    for host in ["127.0.0.1", "127.8.7.6:1", "[::1]:8765"] {
        assert_eq!(status(&server, host), 200, "{host}");
    }
    // Browsers do not say to these where a request comes from.
    for host in [
        "0.0.0.0:8765",
        "[::]:8765",
        "192.168.1.5",
        "[::ffff:0.0.0.0]:1",
    ] {
        assert_eq!(status(&server, host), 403, "{host}");
    }
    let named = AccessRules {
        hosts: vec!["192.168.1.5".to_owned()],
        ..AccessRules::default()
    };
    assert_eq!(
        status(&Running::start(options(), named), "192.168.1.5:80"),
        200
    );
    let access = AccessRules {
        token: Some(TOKEN.to_owned()),
        ..AccessRules::default()
    };
    assert_eq!(
        status(&Running::start(options(), access), "192.168.1.5"),
        401
    );
}

#[test]
fn only_an_operator_opens_graphs_again_where_there_are_tokens() {
    const OPERATOR: &str = "another-token-of-some-length";
    let serve = |token: Option<&str>, operator: Option<&str>| {
        let access = AccessRules {
            token: token.map(str::to_owned),
            operator_token: operator.map(str::to_owned),
            ..AccessRules::default()
        };
        Running::start(options(), access)
    };
    let send = |server: &Running, method: &str, path: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        server.send(method, path, &[("Authorization", &bearer)], "")
    };
    let reload = |server: &Running, token| send(server, "POST", "/api/reload", token);
    let look = |server: &Running, token| send(server, "GET", "/api/graphs", token).status;
    let both = serve(Some(TOKEN), Some(OPERATOR));
    reload(&both, TOKEN).refused(401, "token");
    reload(&both, "").refused(401, "token");
    assert_eq!(reload(&both, OPERATOR).status, 200);
    assert_eq!(
        (look(&both, TOKEN), look(&both, OPERATOR), look(&both, "")),
        (200, 200, 401)
    );
    // Without an operator's token nobody can, which the holder of the other token is told.
    let clients = serve(Some(TOKEN), None);
    reload(&clients, TOKEN).refused(403, "operator");
    reload(&clients, OPERATOR).refused(401, "token");
    let machine = serve(None, Some(OPERATOR));
    reload(&machine, "").refused(401, "token");
    assert_eq!(
        (reload(&machine, OPERATOR).status, look(&machine, "")),
        (200, 200)
    );
    assert_eq!(reload(&serve(None, None), "").status, 200);
    let service = Service::open(options()).unwrap();
    let bind = |token: &str, operator: &str| {
        let access = AccessRules {
            token: Some(token.to_owned()),
            operator_token: Some(operator.to_owned()),
            ..AccessRules::default()
        };
        Server::bind(service.clone(), "127.0.0.1:0".parse().unwrap(), access).err()
    };
    assert!(matches!(bind(TOKEN, TOKEN), Some(ServeError::SameToken)));
    assert!(matches!(bind(TOKEN, "short"), Some(ServeError::Token(5))));
}

#[test]
fn pages_of_a_named_site_may_ask_and_read() {
    const SITE: &str = "https://wiki.example.org";
    let access = AccessRules {
        token: Some(TOKEN.to_owned()),
        origins: vec![SITE.to_owned()],
        ..AccessRules::default()
    };
    let server = Running::start(options(), access);
    let bearer = format!("Bearer {TOKEN}");
    // The browser asks without the token whether it may send it.
    let first = |origin: &str| {
        let headers = [
            ("Origin", origin),
            ("Access-Control-Request-Method", "POST"),
            (
                "Access-Control-Request-Headers",
                "authorization,content-type",
            ),
        ];
        server.send("OPTIONS", "/api/ask", &headers, "")
    };
    let allowed = first(SITE);
    assert_eq!((allowed.status, allowed.body.as_str()), (204, ""));
    for (name, value) in [
        ("access-control-allow-origin", SITE),
        ("access-control-allow-headers", "authorization,content-type"),
        ("access-control-allow-methods", "GET, POST"),
        ("vary", "Origin"),
    ] {
        assert_eq!(allowed.header(name), value, "{name}");
    }
    first("https://evil.example").refused(403, "origin");
    let ask = |headers: &[(&str, &str)]| {
        let json = [("Content-Type", "application/json")];
        let question = r#"{"question": "capital of peru?"}"#;
        server.send("POST", "/api/ask", &[headers, &json].concat(), question)
    };
    let asked = ask(&[
        ("Origin", SITE),
        ("Authorization", &bearer),
        ("Sec-Fetch-Site", "cross-site"),
    ]);
    assert_eq!(asked.status, 200);
    assert_eq!(asked.header("access-control-allow-origin"), SITE);
    // The site can read why it was refused.
    let refused = ask(&[("Origin", SITE)]);
    refused.refused(401, "token");
    assert_eq!(refused.header("access-control-allow-origin"), SITE);
    let other = ask(&[
        ("Origin", "https://wiki.example.org.evil.example"),
        ("Authorization", &bearer),
    ]);
    other.refused(403, "origin");
    assert_eq!(other.header("access-control-allow-origin"), "");
    let plain = ask(&[("Authorization", &bearer)]);
    assert_eq!(plain.header("access-control-allow-origin"), "");
    // Without an origin the question of a browser is a method that the address does not take.
    let options = [("Access-Control-Request-Method", "POST")];
    server
        .send("OPTIONS", "/api/ask", &options, "")
        .refused(405, "method");
}

#[test]
fn a_token_is_needed_everywhere_but_at_the_page_and_the_probes() {
    let access = AccessRules {
        token: Some(TOKEN.to_owned()),
        ..AccessRules::default()
    };
    let server = Running::start(options(), access);
    for path in ["/", "/page/main.js", "/livez", "/readyz"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    for path in [
        "/api/graphs",
        "/metrics",
        "/v1/models",
        "/sparql/demo?query=ASK%7B%7D",
        "/nothing",
    ] {
        let reply = server.get(path);
        reply.refused(401, "token");
        assert!(reply.header("www-authenticate").starts_with("Bearer"));
        let with = |value: &str| {
            server
                .send("GET", path, &[("Authorization", value)], "")
                .status
        };
        assert_ne!(with(&format!("Bearer {TOKEN}")), 401, "{path}");
        assert_ne!(with(&format!("bearer  {TOKEN}")), 401, "{path}");
        for wrong in [
            "Bearer a-token-of-some-lengtH",
            "Bearer ",
            "Basic YTpi",
            TOKEN,
        ] {
            assert_eq!(with(wrong), 401, "{wrong}");
        }
    }
}

#[test]
fn an_open_address_needs_a_token() {
    let service = Service::open(options()).unwrap();
    let bind = |address: &str, token: Option<&str>| {
        let access = AccessRules {
            token: token.map(str::to_owned),
            ..AccessRules::default()
        };
        Server::bind(service.clone(), address.parse().unwrap(), access)
    };
    assert!(matches!(bind("0.0.0.0:0", None), Err(ServeError::Open(_))));
    assert!(matches!(bind("[::]:0", None), Err(ServeError::Open(_))));
    assert!(matches!(
        bind("0.0.0.0:0", Some("short")),
        Err(ServeError::Token(5))
    ));
    assert!(bind("0.0.0.0:0", Some(TOKEN)).is_ok());
    assert!(bind("127.0.0.1:0", None).is_ok());
}

#[test]
fn what_cannot_be_served_is_named() {
    let (_, path) = options().graphs.remove(0);
    let open = |names: &[&str]| {
        let graphs = names
            .iter()
            .map(|name| ((*name).to_owned(), path.clone()))
            .collect();
        Service::open(ServiceOptions {
            graphs,
            ..options()
        })
    };
    assert!(matches!(open(&[]), Err(ServeError::NoGraph)));
    assert!(matches!(open(&["a", "a"]), Err(ServeError::Name(name)) if name == "a"));
    for name in ["", "a/b", "a b", "..", "a@b", "ä"] {
        assert!(matches!(open(&[name]), Err(ServeError::Name(_))), "{name}");
    }
    let missing = ServiceOptions {
        graphs: vec![("a".to_owned(), "/no/such/folder".into())],
        ..options()
    };
    assert!(matches!(
        Service::open(missing),
        Err(ServeError::Graph { .. })
    ));
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let server = Running::plain();
    let reply = server.post("/api/ask", &"a".repeat((1 << 20) + 1));
    reply.refused(413, "too_large");
    assert_eq!(server.get("/livez").body, "alive\n");
}

#[test]
fn a_request_that_does_not_arrive_is_ended() {
    let server = Running::plain();
    let begun = |head: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let wait = Some(Duration::from_secs(60));
        stream.set_read_timeout(wait).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let head = "POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let ended = [
        begun(head),
        begun(&format!("{head}Content-Length: 9\r\n\r\n{{")),
    ]
    .map(|mut stream| {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    assert_eq!(ended[0], "");
    assert!(ended[1].starts_with("HTTP/1.1 408 "), "{}", ended[1]);
    assert!(ended[1].contains("\"code\":\"timeout\""), "{}", ended[1]);
    assert_eq!(server.get("/livez").body, "alive\n");
}

#[test]
fn no_answer_names_a_path_of_the_machine() {
    let server = Running::plain();
    let folder = crate::support::graph()
        .parent()
        .unwrap()
        .display()
        .to_string();
    for path in [
        "/api/graphs",
        "/api/agents",
        "/metrics",
        "/api/graphs/demo/schema",
        "/v1/models",
        "/nothing",
    ] {
        assert!(!server.get(path).body.contains(&folder), "{path}");
    }
}

/// Keeps what is logged. The servers of all tests in this process log here, but only one of them logs
/// requests.
struct Kept;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_log_names_requests_but_no_questions() {
    let log = tracing_subscriber::fmt().json().flatten_event(true);
    log.with_writer(|| Kept).init();
    let access = AccessRules {
        log_requests: true,
        ..AccessRules::default()
    };
    let server = Running::start(options(), access);
    server.post("/api/ask", r#"{"question": "capital of peru?"}"#);
    server.get("/text2sparql?dataset=demo&question=capital%20of%20peru");
    server.get("/api/graphs/demo/search?q=peru");
    server.get("/nothing");
    let text = String::from_utf8(LOG.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["message"] == "request")
        .collect();
    let said = |line: &Value| json!([line["level"], line["method"], line["path"], line["status"]]);
    assert_eq!(
        lines.iter().map(said).collect::<Vec<_>>(),
        [
            json!(["INFO", "POST", "/api/ask", 200]),
            json!(["INFO", "GET", "/text2sparql", 200]),
            json!(["INFO", "GET", "/api/graphs/demo/search", 200]),
            json!(["INFO", "GET", "/nothing", 404]),
        ]
    );
    assert!(lines.iter().all(|line| line["ms"].as_f64().unwrap() > 0.0));
    assert!(!json!(lines).to_string().contains("peru"), "{text}");
}
