//! Every reader on a tiny file in its format, gzipped files, files of the wrong kind, odd records.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;
use std::path::{Path, PathBuf};

use datagen::Refusal;
use datagen::question::{GoldQuery, GoldQuestion};
use datagen::read::{ReadOptions, Source, readers};
use toolbox::exec::ExcludeWhen;
use toolbox::kg::{Kg, MemoryKg};
use toolbox::term::{Literal, RDFS_LABEL, Term};

fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if name.ends_with(".gz") {
        let mut encoder = flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
    } else {
        std::fs::write(&path, text).unwrap();
    }
    path
}

fn read(format: &str, path: &Path, kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, String> {
    let source = Source { format: format.to_owned(), path: path.to_owned(), split: datagen::split::Split::default() };
    source.read(kg, &ReadOptions::default()).map_err(|error| error.to_string())
}

fn one(format: &str, name: &str, text: &str) -> GoldQuestion {
    let dir = tempfile::tempdir().unwrap();
    let questions = read(format, &file(dir.path(), name, text), None).unwrap();
    assert_eq!(questions.len(), 1);
    questions.into_iter().next().unwrap()
}

#[test]
fn metaqa_is_a_folder_a_hop_or_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let qa = file(dir.path(), "1-hop/vanilla/qa_dev.txt.gz", "who shot [Dune]\tA. Lens|B. Lens\nnonsense\n");
    file(dir.path(), "1-hop/qa_dev_qtype.txt.gz", "movie_to_director\nmovie_to_director\n");
    file(dir.path(), "2-hop/vanilla/qa_test.txt", "what came out with [Jo Hill] in it when\t1999\n");
    file(dir.path(), "2-hop/qa_test_qtype.txt", "actor_to_movie_to_year\n");
    let all = read("metaqa", dir.path(), None).unwrap();
    let ids: Vec<&str> = all.iter().map(|question| question.id.as_str()).collect();
    assert_eq!(ids, ["1-hop-dev-1", "1-hop-dev-2", "2-hop-test-1"]);
    assert_eq!(all[0].topics[0].name, "Dune");
    assert_eq!(all[0].answers.as_deref().unwrap(), ["A. Lens", "B. Lens"]);
    assert!(all[0].answers_bind && all[0].exclude == ExcludeWhen::EveryStep);
    assert!(matches!(all[1].query, GoldQuery::Missing(Refusal::BadRecord, _)), "a line that is no question is read, and refused");
    assert_eq!((all[2].hops, all[2].kind.as_deref()), (Some(2), Some("actor_to_movie_to_year")));
    let sparql = all[2].query.text();
    assert!(sparql.contains("?p0n0 <urn:kgagent:starred_actors> <urn:kgagent:Jo%20Hill>"), "{sparql}");
    assert!(sparql.contains("?p0n0 <urn:kgagent:release_year> ?x") && sparql.matches("Jo%20Hill").count() == 3, "{sparql}");
    assert_eq!(read("metaqa", &dir.path().join("2-hop"), None).unwrap().len(), 1);
    assert_eq!(read("metaqa", &qa, None).unwrap().len(), 2);
}

#[test]
fn metaqa_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let qa = file(dir.path(), "1-hop/vanilla/qa_dev.txt", "who shot [Dune]\tA\n");
    let error = read("metaqa", &qa, None).unwrap_err();
    assert!(error.contains("1-hop/qa_dev_qtype.txt"), "{error}");
    file(dir.path(), "1-hop/qa_dev_qtype.txt", "movie_to_director\nmovie_to_writer\n");
    let error = read("metaqa", &qa, None).unwrap_err();
    assert!(error.contains("1 questions") && error.contains("2 types"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    assert!(read("metaqa", empty.path(), None).unwrap_err().contains("qa_SPLIT.txt"));
}

#[test]
fn pathquestion_walks_its_path() {
    let text = "where was the child of ann_x born ?\tulm(ulm/bonn/)\tann_x#child#bo_y#child#ulm#<end>#ulm\n";
    let question = one("pathquestion", "PQ-2H.txt.gz", text);
    assert_eq!((question.id.as_str(), question.hops), ("PQ-2H-1", Some(2)));
    assert_eq!(question.answers.unwrap(), ["ulm", "bonn"]);
    let sparql = question.query.text();
    assert!(
        sparql.contains("<urn:kgagent:ann_x> <urn:kgagent:child> ?p0n0") && sparql.contains("?p0n0 <urn:kgagent:child> ?x"),
        "{sparql}"
    );
    let two = "who is from P in Q ?\tz\tP#has#z#<end>#z*Q#holds#z#<end>#z\tz/w/\trest\tP/Q\n";
    let question = one("pathquestion", "WC-C.txt", two);
    assert_eq!(question.topics.len(), 2);
    assert_eq!(question.answers.unwrap(), ["z", "w"]);
}

#[test]
fn json_sets_are_read_by_their_own_keys() {
    let query = "SELECT ?x WHERE { <http://e/a> <http://e/p> ?x }";
    let cwq = format!(
        r#"[{{"ID":"q-1","compositionality_type":"conjunction","question":"what of a","sparql":"{query}","topic_entity":{{"m.1":"A"}}}}]"#
    );
    let question = one("cwq", "cwq.json", &cwq);
    assert_eq!((question.id.as_str(), question.kind.as_deref(), question.answers_bind), ("q-1", Some("conjunction"), false));
    assert_eq!((question.topics[0].name.as_str(), question.topics[0].label.as_str()), ("m.1", "A"));
    assert_eq!((question.exclude, question.query.text()), (ExcludeWhen::Answer, query.to_owned()));

    let mini = format!(
        r#"[{{"id":"q-2","type":"composition","question":"b?","sparql":"{query}","topic":{{"m.2":"B"}},"gold":["bee"],"match":"exact"}}]"#
    );
    let question = one("cwq", "questions.json.gz", &mini);
    assert_eq!((question.id.as_str(), question.answers.unwrap()), ("q-2", vec!["bee".to_owned()]));

    let grail = format!(
        r#"[{{"qid":77,"question":"c?","level":"zero-shot","hops":2,"sparql_query":"{query}","answer":[{{"answer_type":"Entity","answer_argument":"m.3","entity_name":"Cee"}}]}}]"#
    );
    let question = one("grailqa", "g.json", &grail);
    assert_eq!((question.id.as_str(), question.hops, question.answers.unwrap()), ("77", Some(2), vec!["Cee".to_owned()]));

    let lcquad = format!(r#"[{{"_id":"9","corrected_question":"d?","sparql_query":"{query}","sparql_template_id":2}}]"#);
    assert_eq!(one("lcquad1", "l.json", &lcquad).kind.as_deref(), Some("2"));

    let qald10 = format!(r#"[{{"question":"e?","sparql":"{query}","topic_entity":{{"Q5":"E"}},"answer":{{"Q6":"F"}}}}]"#);
    let question = one("qald10", "q.json", &qald10);
    assert_eq!((question.id.as_str(), question.answers.unwrap()), ("qald10-1", vec!["F".to_owned()]));

    let qald = format!(
        r#"{{"questions":[{{"id":"4","answertype":"resource","question":[{{"language":"de","string":"was?"}},{{"language":"en","string":" what? "}}],"query":{{"sparql":"{query}"}},"answers":[{{"results":{{"bindings":[{{"uri":{{"type":"uri","value":"http://e/z"}}}}]}}}}]}}]}}"#
    );
    let question = one("qald", "qald.json", &qald);
    assert_eq!((question.question.as_str(), question.answers.unwrap()), ("what?", vec!["http://e/z".to_owned()]));

    let own = format!(r#"{{"id":"w","question":"f?","sparql":"{query}","topic":{{"a":"A"}},"shape":"S01"}}"#);
    let question = one("jsonl", "own.jsonl", &own);
    assert_eq!((question.kind.as_deref(), question.exclude), (Some("S01"), ExcludeWhen::Others));
}

#[test]
fn a_record_without_a_query_is_read_and_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = "{\"id\":\"a\",\"question\":\"x?\",\"sparql\":\"\"}\n\nnot json\n{\"id\":\"c\",\"question\":\"y?\"}\n";
    let questions = read("jsonl", &file(dir.path(), "q.jsonl", text), None).unwrap();
    let reasons: Vec<Refusal> = questions
        .iter()
        .map(|question| match &question.query {
            GoldQuery::Missing(reason, _) => *reason,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(reasons, [Refusal::NoQuery, Refusal::BadRecord, Refusal::BadRecord]);
}

#[test]
fn a_file_of_the_wrong_kind_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        ("kb.txt", "Dune|directed_by|A. Lens\n", "MetaQA graph"),
        ("cwq.json", "[{\"ID\":\"1\",\"compositionality_type\":\"x\",\"question\":\"q\",\"sparql\":\"s\"}]\n", "cwq="),
        ("t.jsonl", "{\"id\":\"t\",\"wordings\":[\"a {f}\"],\"bind\":\"\"}\n{}\n", "templates="),
        ("g.nt", "<http://a> <http://b> <http://c> .\n", "N-Triples"),
        ("empty.txt", "", "empty"),
        ("bytes.bin", "\u{1}\u{2}", "begins with"),
    ];
    for (name, text, looks) in files {
        let path = file(dir.path(), name, text);
        for reader in readers(&ReadOptions::default()) {
            // Templates need a graph first; MetaQA files are looked up with their types; CWQ's own file is right for CWQ.
            if matches!(reader.format(), "templates" | "metaqa")
                || (name == "cwq.json" && matches!(reader.format(), "cwq" | "qald10" | "lcquad1" | "jsonl"))
            {
                continue;
            }
            let error = reader.read(&path, None).unwrap_err().to_string();
            assert!(error.contains(name), "{}: {error}", reader.format());
            assert!(error.contains(looks), "{} on {name}: {error}", reader.format());
        }
    }
    let error = read("qald", &file(dir.path(), "broken.json", "{\n\"questions\": [\n}"), None).unwrap_err();
    assert!(error.contains("broken.json:3"), "{error}");
    let error = read("jsonl", &file(dir.path(), "bad.jsonl", "\n\n{\"question\": 4}\n"), None).unwrap_err();
    assert!(error.contains("bad.jsonl:3") && error.contains("`question`"), "{error}");
}

fn films() -> MemoryKg {
    let iri = |name: &str| Term::Iri(format!("http://e/{name}"));
    let mut triples = Vec::new();
    for i in 0..12 {
        triples.push([iri(&format!("f{i}")), iri("year"), Term::Literal(Literal::xsd((1990 + i).to_string(), "gYear"))]);
        triples.push([iri(&format!("f{i}")), Term::Iri(RDFS_LABEL.to_owned()), Term::Literal(Literal::plain(format!("Film \"{i}\"")))]);
    }
    triples.push([iri("nameless"), iri("year"), Term::Literal(Literal::xsd("2020", "gYear"))]);
    MemoryKg::from_triples(triples)
}

const TEMPLATE: &str = r#"{"id":"year","shape":"S01","wordings":["when was {f} made","year of {f}?","how old is {f}"],"sparql":"PREFIX : <http://e/> SELECT ?x { ?f :year ?x }","bind":"PREFIX : <http://e/> SELECT DISTINCT ?f { ?f :year ?y }"}"#;

#[test]
fn templates_are_filled_from_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "templates.jsonl", TEMPLATE);
    let kg = films();
    let questions = read("templates", &path, Some(&kg)).unwrap();
    assert_eq!(questions.len(), 12, "one question a film with a label");
    for wording in ["when was", "year of", "how old"] {
        assert_eq!(questions.iter().filter(|question| question.question.starts_with(wording)).count(), 4, "wordings are spread evenly");
    }
    let first = &questions[0];
    assert_eq!(first.id, "year-0");
    let name = first.topics[0].name.strip_prefix("http://e/f").unwrap();
    assert!(first.question.contains(&format!("Film \"{name}\"")), "{}", first.question);
    assert!(first.query.text().contains(&format!("<http://e/f{name}> <http://e/year> ?x")), "{}", first.query.text());
    assert!(read("templates", &path, None).unwrap_err().contains("--kg"));
}

#[test]
fn templates_are_sampled_by_seed() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "templates.jsonl", TEMPLATE);
    let kg = films();
    let take = |per_template, seed| {
        let source: Source = format!("templates={}", path.display()).parse().unwrap();
        let questions = source.read(Some(&kg), &ReadOptions { per_template, seed }).unwrap();
        questions.into_iter().map(|question| question.question).collect::<Vec<_>>()
    };
    assert_eq!(take(5, 1), take(5, 1));
    assert_eq!(take(5, 1), take(9, 1)[..5]);
    assert_ne!(take(5, 1), take(5, 2));
    let wrong = TEMPLATE.replace("{f} made", "{g} made");
    let error = read("templates", &file(dir.path(), "wrong.jsonl", &wrong), Some(&kg)).unwrap_err();
    assert!(error.contains("wrong.jsonl:1") && error.contains("{g}"), "{error}");
}

#[test]
fn parts_of_a_source_are_disjoint() {
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..400).map(|i| format!("{{\"id\":\"q{i}\",\"question\":\"x?\",\"sparql\":\"\"}}\n")).collect();
    let path = file(dir.path(), "q.jsonl", &text);
    let ids = |part: &str| -> Vec<String> {
        let source: Source = format!("jsonl={}{part}", path.display()).parse().unwrap();
        source.read(None, &ReadOptions::default()).unwrap().into_iter().map(|question| question.id).collect()
    };
    let (train, held, all) = (ids("#train"), ids("#heldout"), ids(""));
    assert_eq!((train.len() + held.len(), all.len()), (400, 400));
    assert!(held.iter().all(|id| !train.contains(id)) && (20..70).contains(&held.len()), "{} held out", held.len());
}
