//! How the words of a question are read.

use super::*;
use kg::term::Literal;

/// The question without entities; its values are given.
fn with_values(question: &str, values: &[&str]) -> Asked {
    let mut linked = Linked::default();
    for value in values {
        linked.require(&Literal::plain(*value));
    }
    let tables = WordTables::default();
    Asked::new(question, &linked, &[], &[], &|_| false, &tables)
}

fn asked(question: &str) -> Asked {
    with_values(question, &[])
}

fn stems(asked: &Asked) -> Vec<&str> {
    asked.words.iter().map(|word| word.stem.as_str()).collect()
}

#[test]
fn counts_are_read_from_their_cues() {
    for question in [
        "how many rivers are there",
        "hey, how much money does he have",
        "what's the number of films by her",
        "total number of goals",
        "count the rivers",
        "give me a count of all rivers",
        "how often did she win it",
    ] {
        assert!(asked(question).count, "{question}");
    }
    for question in [
        "how long are the rivers",
        "many rivers flow here, which ones",
        "what number did he wear",
        "who is count dracula",
        "what is the phone number of the inn",
        "the largest event by number of guests",
        "how often does it run",
    ] {
        assert!(!asked(question).count, "{question}");
    }
}

#[test]
fn comparisons_are_read_with_their_direction() {
    const SAME: fn(Op) -> Option<[Op; 2]> = |op| Some([op; 2]);
    for (question, compare) in [
        ("players with at least 3 clubs", SAME(Op::Ge)),
        ("players with at most 3 clubs", SAME(Op::Le)),
        ("rivers with more than 3 bridges", SAME(Op::Gt)),
        ("rivers with fewer than 3 bridges", SAME(Op::Lt)),
        ("films before 1990", SAME(Op::Lt)),
        ("films from before the year 1990", SAME(Op::Lt)),
        ("films since 1990", SAME(Op::Ge)),
        ("cities with over 5000 people", SAME(Op::Gt)),
        ("cities with under about 5000 people", SAME(Op::Lt)),
        ("cities larger than 5000", SAME(Op::Gt)),
        ("rivers shorter than 50", SAME(Op::Lt)),
        ("people older than 50", Some([Op::Gt, Op::Lt])),
        ("rivers with no more than 3 bridges", SAME(Op::Le)),
        ("rivers with not less than 3 bridges", SAME(Op::Ge)),
        ("films no later than 1990", SAME(Op::Le)),
        ("rivers with 3 or more bridges", SAME(Op::Ge)),
        ("rivers with 3 or fewer bridges", SAME(Op::Le)),
        ("people of 50 or older", Some([Op::Ge, Op::Le])),
        ("towers up to 300 metres", SAME(Op::Le)),
        ("cities with a minimum of 5000 people", SAME(Op::Ge)),
        ("how has it changed over the years", None),
        ("bridges over the river", None),
        ("what lies below the surface", None),
        ("films of 1990", None),
        ("the largest city", None),
        ("the most recent film", None),
    ] {
        assert_eq!(asked(question).compare, compare, "{question}");
    }
    assert!(asked("countries larger than this one").than);
    assert!(!asked("the larger country").than);
    assert!(asked("films between 1990 and 1995").between);
    assert!(!asked("films after 1990").between);
}

#[test]
fn extremes_are_read_with_their_direction() {
    const HIGH: Option<[Extreme; 2]> = Some([Extreme::Max; 2]);
    const LOW: Option<[Extreme; 2]> = Some([Extreme::Min; 2]);
    for (question, extreme) in [
        ("the longest river", Some([Extreme::Max, Extreme::Min])),
        ("her most recent film", HIGH),
        ("which city has the most people", HIGH),
        ("which city has the highest population", HIGH),
        ("the shortest river", LOW),
        ("which city has the fewest people", LOW),
        ("her first film", LOW),
        ("the oldest city", Some([Extreme::Max, Extreme::Min])),
        ("the youngest player", Some([Extreme::Min, Extreme::Max])),
        ("players with at most 3 clubs", None),
        ("players with at least 3 clubs", None),
        ("cities with a minimum of 5000 people", None),
        ("her recent films", None),
        ("rivers longer than 3", None),
        ("how long is the river", None),
        ("the tiniest country", LOW),
        ("when was it first opened", None),
        ("the worst delay", HIGH),
        ("the worst flight delay", HIGH),
        ("the worst grade", LOW),
    ] {
        assert_eq!(asked(question).extreme, extreme, "{question}");
    }
}

#[test]
fn which_of_two_takes_the_extreme_of_its_comparative() {
    assert_eq!(
        asked("which is longer, this or that").either,
        Some([Extreme::Max, Extreme::Min])
    );
    let more = Some([Extreme::Max; 2]);
    assert_eq!(asked("this vs that, which holds more people").either, more);
    assert_eq!(
        asked("who is older than this, and has 3 or more").either,
        None
    );
    assert_eq!(
        asked("who is younger, he or she").either,
        Some([Extreme::Min, Extreme::Max])
    );
    assert_eq!(
        asked("which is the longest, this or that").either,
        Some([Extreme::Max, Extreme::Min])
    );
    assert_eq!(asked("rivers longer than this one").either, None);
    assert!(
        asked("who is older, or").either.is_some(),
        "entities are no words"
    );
    assert_eq!(asked("is it a river or a lake").either, None);
    assert_eq!(asked("towers of 300 metres or taller").either, None);
}

#[test]
fn truth_values_and_others_are_asked_for_by_their_words() {
    for question in ["her co-stars", "teammates of his", "what else did he write"] {
        assert!(asked(question).others, "{question}");
    }
    assert!(!asked("the climate of the country").others);
    for question in [
        "is it long",
        "hey was he born there?",
        "please, did she direct it",
        "Have they met",
    ] {
        assert!(asked(question).judge, "{question}");
    }
    for question in [
        "what is it",
        "who did it",
        "rivers that are long",
        "is there a river, and which one",
        "",
    ] {
        assert!(!asked(question).judge, "{question}");
    }
}

#[test]
fn words_are_stems_once_with_the_marks_of_question_words() {
    let found = asked("hey um who directed it, the director please?");
    assert_eq!(stems(&found), ["direct", "#who"]);
    assert!(found.words[1].is_mark() && !found.words[0].is_mark());
    assert_eq!(found.words[0].word, "directed", "as written");
    assert_eq!(stems(&asked("how many rivers")).last(), Some(&"#how-many"));
    assert!(stems(&asked("in what year was it")).contains(&"#what-year"));
    assert!(stems(&asked("where was it")).contains(&"#where"));
    assert!(asked("").words.is_empty());
}

#[test]
fn neighbouring_words_are_abbreviated_by_their_initials() {
    let found = asked("the gross national product of it");
    let national = &found.words[1];
    assert_eq!(national.word, "national");
    assert!(found.abbreviated(national, "gnp") > 0.0);
    assert!(found.abbreviated(national, "np") > 0.0);
    assert!(found.abbreviated(national, "gdp") == 0.0);
    let other = asked("gross or net").words[0].clone();
    assert!(asked("national product").abbreviated(&other, "np") == 0.0);
}

#[test]
fn an_adjective_is_its_plain_form() {
    let found = asked("the biggest stadium");
    assert_eq!(stems(&found)[0], "big");
    assert_eq!(
        found.words[0].adjective.map(|adjective| adjective.plain),
        Some("big")
    );
    assert_eq!(found.words[1].adjective, None);
}

#[test]
fn words_of_values_belong_to_their_value_and_numbers_are_no_words() {
    let found = with_values(
        "films from 1990 called blue velvet",
        &["1990", "blue velvet"],
    );
    let values: Vec<(&str, Option<usize>)> = (found.words.iter())
        .map(|word| (word.word.as_str(), word.value))
        .collect();
    assert_eq!(
        values,
        [("films", None), ("blue", Some(1)), ("velvet", Some(1))]
    );
}
