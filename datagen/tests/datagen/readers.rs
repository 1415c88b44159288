//! Every reader on a small file in its format, gzipped files, files in the wrong format, bad
//! records.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use datagen::Refusal;
use datagen::question::{GoldQuery, GoldQuestion};
use datagen::read::{Likeness, QuestionSource, ReadOptions, Sample, page, readers};
use kg::term::{Literal, RDFS_LABEL, Term};
use kg::{FrozenKg, Kg};
use toolbox::call::ToolTable;
use toolbox::exec::ExcludeWhen;

fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if name.ends_with(".gz") {
        let mut encoder = flate2::write::GzEncoder::new(
            std::fs::File::create(&path).unwrap(),
            flate2::Compression::default(),
        );
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
    } else {
        std::fs::write(&path, text).unwrap();
    }
    path
}

fn read(format: &str, path: &Path, kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, String> {
    let source: QuestionSource = format!("{format}={}", path.display()).parse().unwrap();
    source
        .read(kg, &ReadOptions::default())
        .map_err(|error| error.to_string())
}

fn one(format: &str, name: &str, text: &str) -> GoldQuestion {
    let dir = tempfile::tempdir().unwrap();
    let questions = read(format, &file(dir.path(), name, text), None).unwrap();
    assert_eq!(questions.len(), 1);
    questions.into_iter().next().unwrap()
}

#[test]
fn metaqa_reads_a_folder_a_hop_or_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let qa = file(
        dir.path(),
        "1-hop/vanilla/qa_dev.txt.gz",
        "who shot [Dune]\tA. Lens|B. Lens\nnonsense\n",
    );
    file(
        dir.path(),
        "1-hop/qa_dev_qtype.txt.gz",
        "movie_to_director\nmovie_to_director\n",
    );
    file(
        dir.path(),
        "2-hop/vanilla/qa_test.txt",
        "what came out with [Jo Hill] in it when\t1999\n",
    );
    file(
        dir.path(),
        "2-hop/qa_test_qtype.txt",
        "actor_to_movie_to_year\n",
    );
    let all = read("metaqa", dir.path(), None).unwrap();
    let ids: Vec<&str> = all.iter().map(|question| question.id.as_str()).collect();
    assert_eq!(ids, ["1-hop-dev-1", "1-hop-dev-2", "2-hop-test-1"]);
    assert_eq!(all[0].topics[0].name, "Dune");
    assert_eq!(all[0].answers.as_deref().unwrap(), ["A. Lens", "B. Lens"]);
    assert!(all[0].answers_bind && all[0].exclude == ExcludeWhen::EveryStep);
    assert!(
        matches!(all[1].query, GoldQuery::Missing(Refusal::BadRecord, _)),
        "a line that is no question is read, and refused"
    );
    assert_eq!(
        (all[2].hops, all[2].kind.as_deref()),
        (Some(2), Some("actor_to_movie_to_year"))
    );
    let sparql = all[2].query.text();
    assert!(
        sparql.contains("?p0n0 <urn:kgagent:starred_actors> <urn:kgagent:Jo%20Hill>"),
        "{sparql}"
    );
    assert!(
        sparql.contains("?p0n0 <urn:kgagent:release_year> ?x")
            && sparql.matches("Jo%20Hill").count() == 3,
        "{sparql}"
    );
    assert_eq!(
        read("metaqa", &dir.path().join("2-hop"), None)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(read("metaqa", &qa, None).unwrap().len(), 2);
}

#[test]
fn metaqa_names_missing_files() {
    let dir = tempfile::tempdir().unwrap();
    let qa = file(
        dir.path(),
        "1-hop/vanilla/qa_dev.txt",
        "who shot [Dune]\tA\n",
    );
    let error = read("metaqa", &qa, None).unwrap_err();
    assert!(error.contains("1-hop/qa_dev_qtype.txt"), "{error}");
    file(
        dir.path(),
        "1-hop/qa_dev_qtype.txt",
        "movie_to_director\nmovie_to_writer\n",
    );
    let error = read("metaqa", &qa, None).unwrap_err();
    assert!(
        error.contains("1 questions") && error.contains("2 types"),
        "{error}"
    );
    let empty = tempfile::tempdir().unwrap();
    assert!(
        read("metaqa", empty.path(), None)
            .unwrap_err()
            .contains("qa_SPLIT.txt")
    );
}

#[test]
fn pathquestion_walks_its_path() {
    let text = "where was the child of ann_x born ?\tulm(ulm/bonn/)\tann_x#child#bo_y#child#ulm#<end>#ulm\n";
    let question = one("pathquestion", "PQ-2H.txt.gz", text);
    assert_eq!((question.id.as_str(), question.hops), ("PQ-2H-1", Some(2)));
    assert_eq!(question.answers.unwrap(), ["ulm", "bonn"]);
    let sparql = question.query.text();
    assert!(
        sparql.contains("<urn:kgagent:ann_x> <urn:kgagent:child> ?p0n0")
            && sparql.contains("?p0n0 <urn:kgagent:child> ?x"),
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
    assert_eq!(
        (
            question.id.as_str(),
            question.kind.as_deref(),
            question.answers_bind
        ),
        ("q-1", Some("conjunction"), false)
    );
    assert_eq!(
        (
            question.topics[0].name.as_str(),
            question.topics[0].label.as_str()
        ),
        ("m.1", "A")
    );
    assert_eq!(
        (question.exclude, question.query.text()),
        (ExcludeWhen::Answer, query.to_owned())
    );

    let mini = format!(
        r#"[{{"id":"q-2","type":"composition","question":"b?","sparql":"{query}","topic":{{"m.2":"B"}},"gold":["bee"],"match":"exact"}}]"#
    );
    let question = one("cwq", "questions.json.gz", &mini);
    assert_eq!(
        (question.id.as_str(), question.answers.unwrap()),
        ("q-2", vec!["bee".to_owned()])
    );

    let grail = format!(
        r#"[{{"qid":77,"question":"c?","level":"zero-shot","hops":2,"sparql_query":"{query}","answer":[{{"answer_type":"Entity","answer_argument":"m.3","entity_name":"Cee"}}]}}]"#
    );
    let question = one("grailqa", "g.json", &grail);
    assert_eq!(
        (
            question.id.as_str(),
            question.hops,
            question.answers.unwrap()
        ),
        ("77", Some(2), vec!["Cee".to_owned()])
    );

    let lcquad = format!(
        r#"[{{"_id":"9","corrected_question":"d?","sparql_query":"{query}","sparql_template_id":2}}]"#
    );
    assert_eq!(one("lcquad1", "l.json", &lcquad).kind.as_deref(), Some("2"));

    let qald10 = format!(
        r#"[{{"question":"e?","sparql":"{query}","topic_entity":{{"Q5":"E"}},"answer":{{"Q6":"F"}}}}]"#
    );
    let question = one("qald10", "q.json", &qald10);
    assert_eq!(
        (question.id.as_str(), question.answers.unwrap()),
        ("qald10-1", vec!["F".to_owned()])
    );

    let qald = format!(
        r#"{{"questions":[{{"id":"4","answertype":"resource","question":[{{"language":"de","string":"was?"}},{{"language":"en","string":" what? "}}],"query":{{"sparql":"{query}"}},"answers":[{{"results":{{"bindings":[{{"uri":{{"type":"uri","value":"http://e/z"}}}}]}}}}]}}]}}"#
    );
    let question = one("qald", "qald.json", &qald);
    assert_eq!(
        (question.question.as_str(), question.answers.unwrap()),
        ("what?", vec!["http://e/z".to_owned()])
    );

    let own = format!(
        r#"{{"id":"w","question":"f?","sparql":"{query}","topic":{{"a":"A"}},"shape":"S01"}}"#
    );
    let question = one("jsonl", "own.jsonl", &own);
    assert_eq!(
        (question.kind.as_deref(), question.exclude),
        (Some("S01"), ExcludeWhen::Others)
    );
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
    assert_eq!(
        reasons,
        [Refusal::NoQuery, Refusal::BadRecord, Refusal::BadRecord]
    );
}

/// A file of each format: the example of its table, in the layout of the set.
fn examples() -> Vec<(&'static str, String)> {
    let all = readers(&ReadOptions::default());
    let laid_out = |reader: &dyn datagen::read::QuestionReader| {
        let example = reader.format().example;
        let array = format!("[{example}]");
        if example.starts_with('{') && reader.likeness(&Sample::of(&array)) == Likeness::Sure {
            array
        } else {
            format!("{example}\n")
        }
    };
    all.iter()
        .map(|reader| (reader.format().name, laid_out(reader.as_ref())))
        .collect()
}

#[test]
fn every_example_of_the_table_is_read() {
    let dir = tempfile::tempdir().unwrap();
    for (format, text) in examples() {
        let path = file(
            dir.path(),
            &format!("{format}/1-hop/vanilla/qa_dev.txt"),
            &text,
        );
        file(
            dir.path(),
            &format!("{format}/1-hop/qa_dev_qtype.txt"),
            "movie_to_director\n",
        );
        if format == "templates" {
            continue;
        }
        let questions = read(format, &path, None).unwrap();
        assert_eq!((questions.len(), questions[0].source.as_str()), (1, format));
        let has_query = !matches!(
            questions[0].query,
            GoldQuery::Missing(..) | GoldQuery::AnswersOnly { .. }
        );
        assert!(
            has_query == !matches!(format, "trex" | "zeroshotre" | "creak"),
            "{format}: {:?}",
            questions[0].query
        );
    }
}

#[test]
fn every_reader_rejects_other_formats() {
    let dir = tempfile::tempdir().unwrap();
    for (kind, text) in examples() {
        for gz in ["", ".gz"] {
            let path = file(dir.path(), &format!("{kind}.file{gz}"), &text);
            for (format, _) in examples().iter().filter(|(format, _)| *format != kind) {
                let error = read(format, &path, None).unwrap_err();
                assert!(
                    error.contains(&format!("{kind}.file{gz}: not a {format} file")),
                    "{error}"
                );
                assert!(
                    error.contains(&format!("this looks like {kind}: try {kind}=")),
                    "{format} on {kind}: {error}"
                );
            }
        }
    }
}

#[test]
fn files_without_questions_are_recognised() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        ("kb.txt", "Dune|directed_by|A. Lens\n", "a MetaQA graph"),
        ("kb.tsv", "Dune\tdirected_by\tA. Lens\n", "tab-separated"),
        ("g.nt", "<http://a> <http://b> <http://c> .\n", "N-Triples"),
        ("g.ttl", "@prefix : <http://a> .\n", "Turtle"),
        ("empty.txt", "", "the file is empty"),
        ("array.json", "[]", "a JSON array without records"),
        ("bytes.bin", "\u{1}\u{2}", "begins with"),
        ("half.json", "[{\"question\": \"a", "is broken"),
        ("other.json", "{\"rows\": [{\"a\": 1}]}", "JSON"),
    ];
    for (name, text, looks) in files {
        let path = file(dir.path(), name, text);
        for reader in readers(&ReadOptions::default()) {
            let error = read(reader.format().name, &path, None).unwrap_err();
            assert!(
                error.contains(name) && error.contains(looks),
                "{} on {name}: {error}",
                reader.format().name
            );
        }
    }
    let error = read(
        "qald",
        &file(dir.path(), "broken.json", "{\n\"questions\": [\n}"),
        None,
    )
    .unwrap_err();
    assert!(error.contains("broken.json:3"), "{error}");
    // Fields that other formats have too, in a file that only another set writes.
    let error = read(
        "cwq",
        &file(
            dir.path(),
            "own.json",
            "[{\"question\":\"a\",\"sparql\":\"b\",\"topic_entity\":{}}]",
        ),
        None,
    )
    .unwrap_err();
    assert!(error.contains("try qald10="), "{error}");
    let late = "[{\"question\":\"a\",\"sparql\":\"b\"},\n{\"question\":\"a\",\n]";
    let error = read("cwq", &file(dir.path(), "late.json", late), None).unwrap_err();
    assert!(error.contains("late.json:3"), "{error}");
}

#[test]
fn the_formats_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        page(),
        "run the test with BLESS=1 to write docs/formats.md again"
    );
}

#[test]
fn webqsp_takes_the_first_complete_parse() {
    let parse = |quality: &str, sparql: &str, chain: &str| {
        format!(
            r#"{{"ParseId":"p","AnnotatorComment":{{"ParseQuality":"{quality}"}},"Sparql":"{sparql}","TopicEntityMid":"m.07","TopicEntityName":"Lomen","InferentialChain":{chain},"Constraints":[],"Answers":[{{"AnswerType":"Entity","AnswerArgument":"m.08","EntityName":"Sol"}},{{"AnswerType":"Value","AnswerArgument":"1999","EntityName":null}}]}}"#
        )
    };
    let question = |id: &str, parses: &str| {
        format!(
            r#"{{"QuestionId":"{id}","RawQuestion":"who leads lomen?","ProcessedQuestion":"who leads lomen","Parses":[{parses}]}}"#
        )
    };
    let partial = parse("Partial", "SELECT ?y { ?y ns:a.b ns:m.07 }", "null");
    let whole = parse(
        "Complete",
        "SELECT ?x { ns:m.07 ns:a.b.c ?y . ?y ns:d.e.f ?x }",
        r#"["a.b.c","d.e.f"]"#,
    );
    let manual = parse(
        "Complete",
        r"#MANUAL SPARQL\nSELECT ?x { ns:m.07 ns:a.b.c ?x }",
        r#"["a.b.c"]"#,
    );
    let records = [
        question("T-0", &format!("{partial},{whole}")),
        question("T-1", &partial),
        question("T-2", &manual),
        question("T-3", ""),
        "17".to_owned(),
    ];
    let text = format!(
        r#"{{"Version":"1","FreebaseVersion":"2015","Questions":[{}]}}"#,
        records.join(",")
    );
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "data/WebQSP.train.json.gz", &text);
    file(dir.path(), "data/WebQSP.train.partial.json", "{}");
    let questions = read("webqsp", dir.path(), None).unwrap();
    let kinds: Vec<_> = questions
        .iter()
        .map(|question| question.kind.as_deref().unwrap_or("-"))
        .collect();
    assert_eq!(kinds, ["chain", "partial", "hand-written", "other", "-"]);
    assert_eq!(
        (
            questions[0].hops,
            questions[0].topics[0].name.as_str(),
            questions[0].topics[0].label.as_str()
        ),
        (Some(2), "m.07", "Lomen")
    );
    assert_eq!(questions[0].answers.as_deref().unwrap(), ["Sol", "1999"]);
    assert!(questions[0].query.text().contains("d.e.f"));
    assert!(
        matches!(questions[3].query, GoldQuery::Missing(Refusal::NoQuery, _)),
        "no parse, no query"
    );
    assert!(matches!(
        questions[4].query,
        GoldQuery::Missing(Refusal::BadRecord, _)
    ));
    let (report, _) = datagen::pipeline::check(&questions, ToolTable::Paper, 1);
    assert_eq!(
        (report.total.questions, report.total.converted),
        (5, 3),
        "{:?}",
        report.total.refused
    );
}

#[test]
fn lcquad2_has_three_wordings_and_two_queries() {
    let text = r#"[{"uid":5,"NNQT_question":"{a} of {b}","question":null,"paraphrased_question":"what a has b","sparql_wikidata":"select ?x where { wd:Q1 wdt:P1 ?x }","sparql_dbpedia18":"","template_index":24,"answer":[]},
      {"uid":6,"NNQT_question":"{c}","question":"n/a","paraphrased_question":[],"sparql_wikidata":"select ?x where { wd:Q2 wdt:P1 ?x }","sparql_dbpedia18":"select ?x { <http://a> <http://b> ?x }"}]"#;
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "dataset/train.json", text);
    let wordings = |format: &str| -> Vec<String> {
        read(format, dir.path(), None)
            .unwrap()
            .into_iter()
            .map(|question| question.question)
            .collect()
    };
    assert_eq!(wordings("lcquad2"), ["what a has b", "{c}"]);
    assert_eq!(wordings("lcquad2:nnqt"), ["{a} of {b}", "{c}"]);
    let dbpedia = read("lcquad2:dbpedia", dir.path(), None).unwrap();
    assert!(
        matches!(dbpedia[0].query, GoldQuery::Missing(Refusal::NoQuery, _))
            && dbpedia[1].query.text().contains("http://a")
    );
}

#[test]
fn qald_reads_many_languages() {
    let text = r#"{"questions":[{"id":"1","question":[{"language":"en","string":"who?"},{"language":"de","string":"wer?"}],"query":{"sparql":"SELECT ?x { <http://a> <http://b> ?x }"}},
      {"id":"2","question":[{"language":"de","string":"was?"},{"language":"en","string":""}],"query":{"sparql":"SELECT ?x { <http://a> <http://b> ?x }"},"answers":[{"boolean":true}]}]}"#;
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "qald_9_plus_train_wikidata.json", text);
    let wordings = |format: &str| -> Vec<String> {
        read(format, dir.path(), None)
            .unwrap()
            .into_iter()
            .map(|question| question.question)
            .collect()
    };
    assert_eq!(
        (wordings("qald"), wordings("qald:DE")),
        (
            vec!["who?".into(), "was?".into()],
            vec!["wer?".into(), "was?".into()]
        )
    );
    let english = read("qald:en", dir.path(), None).unwrap();
    assert!(
        matches!(&english[1].query, GoldQuery::Missing(Refusal::NoWording, why) if why.contains("`en`"))
    );
    assert_eq!(english[1].answers.as_deref().unwrap(), ["true"]);
    file(dir.path(), "qald_9_plus_train_dbpedia.json.gz", text);
    let error = read("qald", dir.path(), None).unwrap_err();
    assert!(
        error.contains("two graphs") && error.contains("train_dbpedia.json.gz"),
        "{error}"
    );
    // Ids restart in every split; reading a folder keeps them apart.
    let other = tempfile::tempdir().unwrap();
    file(other.path(), "qald-9-train-multilingual.json", text);
    file(other.path(), "qald-9-test-multilingual.json", text);
    let ids: Vec<String> = read("qald", other.path(), None)
        .unwrap()
        .into_iter()
        .map(|question| question.id)
        .collect();
    assert_eq!(
        ids,
        [
            "qald-1",
            "qald-2",
            "qald-1@qald-9-train-multilingual",
            "qald-2@qald-9-train-multilingual"
        ]
    );
}

/// Rules B.6: sets without gold queries.
#[test]
fn sets_without_queries_are_for_evaluation() {
    let trex = r#"[{"input":"Arvel Tower [SEP] architect","topic_entity":{"Q1":"Arvel Tower"},"answer":"Mira Sol","alias":["Mira Sol","M. Sol"]}, {"input":"X"}]"#;
    let dir = tempfile::tempdir().unwrap();
    let questions = read("trex", &file(dir.path(), "T-REX.json", trex), None).unwrap();
    assert_eq!(
        (
            questions[0].kind.as_deref(),
            questions[0].answers.as_deref().unwrap()
        ),
        (Some("architect"), &["Mira Sol".to_owned()][..])
    );
    assert!(
        matches!(&questions[0].query, GoldQuery::AnswersOnly { aliases } if aliases.contains(&"M. Sol".to_owned()))
    );
    assert!(
        matches!(&questions[1].query, GoldQuery::Missing(Refusal::BadRecord, why) if why.contains("`answer`"))
    );
    let (report, refused) = datagen::pipeline::check(&questions, ToolTable::Paper, 1);
    assert_eq!(
        (report.total.converted, refused[0].reason),
        (0, Refusal::AnswersOnly)
    );

    let zero = r#"[{"input":"Arvel Tower [SEP] architect","template_questions":["Who planned Arvel Tower?"],"topic_entity":{"Q1":"Arvel Tower"},"answer":"Mira Sol"}]"#;
    assert_eq!(
        one("zeroshotre", "z.json", zero).question,
        "Who planned Arvel Tower?"
    );

    let creak = r#"[{"ex_id":"dev_9","sentence":"Arvel Tower is a bridge.","label":"false","topic_entity":{"Q1":"Arvel Tower"}},{"sentence":"b","label":"maybe"}]"#;
    let claims = read("creak", &file(dir.path(), "creak.json", creak), None).unwrap();
    assert_eq!(
        (claims[0].id.as_str(), claims[0].answers.as_deref().unwrap()),
        ("dev_9", &["false".to_owned()][..])
    );
    assert!(
        matches!(&claims[1].query, GoldQuery::Missing(Refusal::BadRecord, why) if why.contains("maybe"))
    );

    for sparql in ["", r#""sparql":null,"#, r#""sparql":" ","#] {
        let own = one(
            "jsonl",
            "own.jsonl",
            &format!(r#"{{"question":"who?",{sparql}"answers":["a"]}}"#),
        );
        assert!(
            matches!(own.query, GoldQuery::AnswersOnly { .. }) && own.answers.unwrap() == ["a"],
            "{sparql}"
        );
    }
    for other in [
        r#""sparql":7,"answers":["a"]"#,
        r#""sparql":null"#,
        r#""sparql":null,"answers":null"#,
    ] {
        let own = one(
            "jsonl",
            "own.jsonl",
            &format!(r#"{{"question":"who?",{other}}}"#),
        );
        assert!(
            matches!(own.query, GoldQuery::Missing(Refusal::NoQuery, _)),
            "{other}"
        );
    }
}

#[test]
fn tables_have_a_header() {
    let text = "\u{feff}ID;Question;SPARQL;Topic;answers;hops\n\na;\"who; or\nwhat?\";SELECT ?x { <http://a> <http://b> ?x };http://a|http://c;x|y;2\nb;too;few\n;;SELECT;;;\nd;why?;;;;\n";
    let dir = tempfile::tempdir().unwrap();
    let questions = read("csv", &file(dir.path(), "q.csv.gz", text), None).unwrap();
    assert_eq!(questions.len(), 4);
    let first = &questions[0];
    assert_eq!(
        (first.id.as_str(), first.question.as_str(), first.hops),
        ("a", "who; or\nwhat?", Some(2))
    );
    assert_eq!(
        (first.topics.len(), first.answers.as_deref().unwrap().len()),
        (2, 2)
    );
    let reasons: Vec<Option<Refusal>> = questions
        .iter()
        .map(|question| {
            if let GoldQuery::Missing(reason, _) = &question.query {
                Some(*reason)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        reasons,
        [
            None,
            Some(Refusal::BadRecord),
            Some(Refusal::BadRecord),
            Some(Refusal::NoQuery)
        ]
    );

    let text = "question,sparql,answers\nwho?,,x|y\nwhy?,SELECT ?x { ?x ?y ?z },x\n";
    let questions = read("csv", &file(dir.path(), "empty.csv", text), None).unwrap();
    assert!(
        matches!(questions[0].query, GoldQuery::AnswersOnly { .. })
            && questions[0].answers.as_deref().unwrap() == ["x", "y"]
    );
    assert!(matches!(questions[1].query, GoldQuery::Text(_)));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

    /// Reading any file ends with questions or an error.
    #[test]
    fn no_reader_panics(kind in 0usize..64, cuts in proptest::collection::vec((0usize..10_000, 0usize..40, ".{0,6}"), 0..6), whole in proptest::bool::ANY) {
        let all = examples();
        let (format, text) = &all[kind % all.len()];
        let mut text = if whole { text.repeat(2) } else { text.clone() };
        for (at, length, with) in cuts {
            let at = at % (text.len() + 1);
            let start = (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap();
            let end = (start + length..=text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len());
            text.replace_range(start..end, &with);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "1-hop/qa_x.txt", &text);
        file(dir.path(), "1-hop/qa_x_qtype.txt", "movie_to_director\n");
        for reader in readers(&ReadOptions::default()) {
            // Also when the check of the format is skipped.
            let request = datagen::read::ReadRequest { path: &path, kg: None, option: None };
            let mut count = 0;
            let _ = reader.read(&request, &mut |_| { count += 1; Ok(()) });
        }
        if let Ok(questions) = read(format, &path, None) {
            let (report, _) = datagen::pipeline::check(&questions, ToolTable::Paper, 1);
            proptest::prop_assert_eq!(report.total.questions, questions.len());
        }
    }
}

fn films() -> FrozenKg {
    let iri = |name: &str| Term::Iri(format!("http://e/{name}"));
    let mut triples = Vec::new();
    for i in 0..12 {
        triples.push([
            iri(&format!("f{i}")),
            iri("year"),
            Term::Literal(Literal::xsd((1990 + i).to_string(), "gYear")),
        ]);
        triples.push([
            iri(&format!("f{i}")),
            Term::Iri(RDFS_LABEL.to_owned()),
            Term::Literal(Literal::plain(format!("Film \"{i}\""))),
        ]);
    }
    triples.push([
        iri("nameless-17"),
        iri("year"),
        Term::Literal(Literal::xsd("2020", "gYear")),
    ]);
    FrozenKg::from_triples(triples)
}

const TEMPLATE: &str = r#"{"id":"year","shape":"S01","wordings":["when was {f} made","year of {f}?","how old is {f}"],"sparql":"PREFIX : <http://e/> SELECT ?x { ?f :year ?x }","bind":"PREFIX : <http://e/> SELECT DISTINCT ?f { ?f :year ?y }"}"#;

#[test]
fn templates_are_filled_from_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "templates.jsonl", TEMPLATE);
    let kg = films();
    let questions = read("templates", &path, Some(&kg)).unwrap();
    assert_eq!(
        questions.len(),
        36,
        "every film with a name in every wording"
    );
    let texts: BTreeSet<&str> = questions
        .iter()
        .map(|question| question.question.as_str())
        .collect();
    assert_eq!(texts.len(), 36, "no two are equal");
    let films = |part: &[GoldQuestion]| {
        part.iter()
            .map(|question| question.topics[0].name.clone())
            .collect::<BTreeSet<_>>()
    };
    for part in questions.chunks(12) {
        assert_eq!(
            films(part).len(),
            12,
            "no film comes again before every film has come"
        );
        for wording in ["when was", "year of", "how old"] {
            let worded = |question: &&GoldQuestion| question.question.starts_with(wording);
            let count = part.iter().filter(worded).count();
            // The thing without a name takes the turn of one of them.
            assert!(
                (3..=5).contains(&count),
                "wordings are spread evenly: {count}"
            );
        }
    }
    let first = &questions[0];
    assert_eq!(first.id, "year-0");
    let name = first.topics[0].name.strip_prefix("http://e/f").unwrap();
    assert!(
        first.question.contains(&format!("Film \"{name}\"")),
        "{}",
        first.question
    );
    assert!(
        first
            .query
            .text()
            .contains(&format!("<http://e/f{name}> <http://e/year> ?x")),
        "{}",
        first.query.text()
    );
    assert!(read("templates", &path, None).unwrap_err().contains("--kg"));
}

#[test]
fn templates_are_sampled_by_seed() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "templates.jsonl", TEMPLATE);
    let kg = films();
    let take = |per_template, seed| {
        let source: QuestionSource = format!("templates={}", path.display()).parse().unwrap();
        let questions = source
            .read(Some(&kg), &ReadOptions { per_template, seed })
            .unwrap();
        questions
            .into_iter()
            .map(|question| question.question)
            .collect::<Vec<_>>()
    };
    assert_eq!(take(5, 1), take(5, 1));
    assert_eq!(take(5, 1), take(9, 1)[..5]);
    assert_ne!(take(5, 1), take(5, 2));
    let wrong = TEMPLATE.replace("{f} made", "{g} made");
    let error = read(
        "templates",
        &file(dir.path(), "wrong.jsonl", &wrong),
        Some(&kg),
    )
    .unwrap_err();
    assert!(
        error.contains("wrong.jsonl:1") && error.contains("{g}"),
        "{error}"
    );
}

#[test]
fn parts_of_a_source_are_disjoint() {
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..400)
        .map(|i| format!("{{\"id\":\"q{i}\",\"question\":\"x?\",\"sparql\":\"\"}}\n"))
        .collect();
    let path = file(dir.path(), "q.jsonl", &text);
    let ids = |part: &str| -> Vec<String> {
        let source: QuestionSource = format!("jsonl={}{part}", path.display()).parse().unwrap();
        source
            .read(None, &ReadOptions::default())
            .unwrap()
            .into_iter()
            .map(|question| question.id)
            .collect()
    };
    let (train, held, all) = (ids("#train"), ids("#heldout"), ids(""));
    assert_eq!((train.len() + held.len(), all.len()), (400, 400));
    assert!(
        held.iter().all(|id| !train.contains(id)) && (20..70).contains(&held.len()),
        "{} held out",
        held.len()
    );
}
