//! The words of a graph's relations and classes, as translation tables see them, and words of
//! questions that say nothing.

use std::sync::LazyLock;

use kg::search::nearly;
use kg::words;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::rank::{content, stem};

/// Words of politeness and filling, which no relation explains.
const FILLERS: &str = "hey hi hello um uh erm well btw pls plz please thanks thank know need want like wanna gotta wonder wondering curious idea \
remind question say said exactly actually anyone someone something anything everything thing things ok okay so now again get got us lemme \
gimme dont don isn didn doesn possible kindly quick quickly help ever mean means called named name names btw im ive id s t d ll re ve m \
looking look interested search searching provide display return enumerate sort kind whats whos wheres whens hows every bit kinda maybe";

/// More of these words, which came after the tables were learned, and prepositions.
const CHATTER: &str = "everyone everybody here nowadays current currently directly tbh imo lol haha guys folks clue grateful appreciate wanted wants wondered lately hear heard mind moment beside besides along alongside within inside behind among amongst toward towards upon onto outside beneath via per without despite throughout distinct unique different altogether dr mr mrs ms \
yo u ur tonight above below stuff somebody told explain dear mate along buddy bro dude sir madam pal yall cheers sup huh eh nope yep yeah ta luv";

/// Abbreviations in names of columns, with what they stand for.
const ABBREVIATIONS: &str = "acct:account acq:acquired addr:address aircon:air_conditioning amt:amount approx:approximate asst:assistant avg:average bal:balance \
bldg:building calc:calculated capt:captain chk:check clr:color cnt:count conf:confirmation ctry:country curr:currency \
cust:customer degr:degree deg:degree dept:department descr:description desc:description dest:destination diam:diameter dim:dimension \
dist:distance dob:birth_date dod:death_date yob:birth_year yod:death_year flr:floor dt:date dur:duration emp:employee enr:enrollment ext:extension \
freq:frequency govt:government grp:group hosp:hospital hr:hour hrs:hours ht:height inst:institution \
instr:instructor inv:invoice lang:language lgth:length len:length lic:license loc:location lvl:level mfg:manufacturer mfr:manufacturer \
mgr:manager mgmt:management mi:miles mins:minutes mnth:month msg:message mth:month nat:nationality natlty:nationality nbr:number nm:name num:number odo:odometer occ:occupation org:organization orig:origin \
pct:percent pd:paid perf:performance pgs:pages pmt:payment pop:population pos:position pref:preferred prereq:prerequisite prin:principal prod:product prof:professor \
proj:project pub:publication pwr:power qty:quantity rcpt:receipt reg:registration req:required rm:room rte:route sal:salary sched:schedule \
sec:section seq:sequence sess:session sig:signature spd:speed sr:senior stat:status std:standard strt:start stu:student subj:subject \
sup:supervisor supp:supplier sz:size tel:telephone temp:temperature tm:time tot:total trans:transaction ttl:title txn:transaction univ:university veh:vehicle vol:volume \
whse:warehouse wgt:weight wt:weight yr:year yrs:years m2:square_metre km2:square_kilometre sqm:square_metre sqft:square_foot kwh:kilowatt_hour";

/// Longest word that is taken apart, in bytes: names of strangers may be longer than any word.
const LONGEST: usize = 64;
/// How names of columns with truths begin: `isofficial`.
const FLAGS: [&str; 2] = ["is", "has"];
/// Fewest letters of a part of a compound.
const SHORTEST: usize = 4;

/// The stems of a relation's printed name or label: its last segment and, if there is one, the
/// segment before it.
pub(super) fn relation_stems(name: &str) -> Vec<String> {
    let (own, domain) = split(name);
    let mut stems = stems(own);
    stems.extend(domain_stems(domain));
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// The stems of a text; if it has only stop words, of all its words.
pub(super) fn stems(text: &str) -> Vec<String> {
    let mut own = content(text);
    if own.is_empty() {
        own = words(text);
    }
    let mut stems: Vec<String> = own.iter().map(|word| stem(word)).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// The program's own list of synonyms.
pub(super) const SYNONYMS: &str = include_str!("../../../data/base/synonyms.txt");

/// The lines of a list of synonyms with their numbers from 0: the words of relations, and those of questions.
pub(super) fn sides_of(text: &str) -> impl Iterator<Item = (usize, Option<(&str, &str)>)> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.starts_with('#'));
    lines.map(|(number, line)| (number, line.split_once(':')))
}

/// Whether a lower-case word says nothing about what is asked.
pub(super) fn is_filler(word: &str) -> bool {
    static WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| FILLERS.split(' ').collect());
    WORDS.contains(word)
}

/// Whether a lower-case word of a question says nothing about what is asked, although the tables may
/// know it.
pub(super) fn is_chatter(word: &str) -> bool {
    static WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| CHATTER.split(' ').collect());
    WORDS.contains(word)
}

/// The words of a text; those that are unknown but written without a space between known words
/// (`indepyear`, `headofstate`, as in names of columns) are taken apart. Abbreviations are spelled out unless the
/// question has them.
pub(super) fn compounds(
    text: &str,
    asked: impl Fn(&str) -> bool,
    known: impl Fn(&str) -> bool,
) -> String {
    let known = |stem: &str| asked(stem) || known(stem);
    let parts = words(text).into_iter().map(|word| {
        if let Some(long) = spelled_out(&word).filter(|_| !asked(&stem(&word))) {
            return long.replace('_', " ");
        }
        if word.len() > LONGEST || known(&stem(&word)) {
            return word;
        }
        let mut of_flag = FLAGS.iter().filter_map(|flag| word.strip_prefix(flag));
        let said = of_flag.find(|said| said.len() > SHORTEST && known(&stem(said)));
        if let Some(said) = said {
            return said.to_owned();
        }
        let ends = word.char_indices().map(|(at, _)| at).rev();
        let mut pairs = ends.map(|at| word.split_at(at)).filter(|(left, right)| {
            left.len() >= SHORTEST && right.len() >= SHORTEST && known(&stem(right))
        });
        let full = |left: &str| known(&stem(left.strip_suffix("of").unwrap_or(left)));
        let (first, all) = (
            pairs.clone().next_back(),
            pairs.find(|(left, _)| full(left)),
        );
        match all.or(first.filter(|(left, _)| left.len() > SHORTEST)) {
            Some((left, right)) => {
                format!("{} {right}", left.strip_suffix("of").unwrap_or(left))
            }
            None => word,
        }
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// What a lower-case abbreviation stands for; `_` stands between words.
pub(super) fn spelled_out(word: &str) -> Option<&'static str> {
    static LONG: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
        (ABBREVIATIONS.split(' '))
            .filter_map(|pair| pair.split_once(':'))
            .collect()
    });
    LONG.get(word).copied()
}

/// Whether a name of a column leaves out letters of a word: `wkday` of `weekday`, `hrly` of `hourly`. It has at most
/// one vowel, and of two letters the second is the word's last consonant. Or the name is the word's beginning: `categ`.
pub(super) fn shortens(name: &str, word: &str) -> bool {
    const BEGINNING: usize = 4;
    if name.len() >= BEGINNING && word.len() > name.len() && word.starts_with(name) {
        return true;
    }
    let vowel = |letter: &char| matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u');
    let (short, long) = (name.chars().count(), word.chars().count());
    if short < 2 || short >= long || long > 3 * short + 2 || name.chars().filter(vowel).count() > 1
    {
        return false;
    }
    let consonant = |letter: &char| letter.is_alphabetic() && !vowel(letter);
    let last = |text: &str| text.chars().rev().find(consonant);
    if name.chars().next() != word.chars().next() || short == 2 && last(name) != last(word) {
        return false;
    }
    let mut letters = word.chars();
    (name.chars()).all(|wanted| letters.any(|letter| letter == wanted))
}

/// Whether a word says the opposite of a stem: `unpaid` of `paid`.
pub(super) fn is_opposite(word: &str, name: &str) -> bool {
    const OPPOSITE: [&str; 3] = ["un", "in", "non"];
    let mut rests = OPPOSITE
        .iter()
        .filter_map(|prefix| word.strip_prefix(prefix));
    rests.any(|rest| rest.len() > 2 && stem(rest) == name)
}

/// The longest known stem that a word begins with, if what follows is a misspelt ending
/// (`populaton`).
pub(super) fn before_misspelt_ending(word: &str, known: impl Fn(&str) -> bool) -> Option<&str> {
    const SHORTEST: usize = 4;
    const ENDINGS: [&str; 6] = ["ation", "ations", "ition", "ership", "ement", "ician"];
    let ends = word.char_indices().rev().map(|(at, _)| at);
    let mut parts = ends
        .map(|at| word.split_at(at))
        .filter(|(stem, _)| stem.chars().count() >= SHORTEST);
    let ending = |rest: &str| ENDINGS.iter().any(|ending| nearly(rest, ending));
    parts
        .find(|(stem, rest)| known(stem) && ending(rest))
        .map(|(stem, _)| stem)
}

/// The last segment of a name, and the one before it.
pub(crate) fn split(name: &str) -> (&str, &str) {
    let ends = ['.', '/', '#', ':'];
    let name = name.trim_matches(['<', '>']);
    if let Some((before, last)) = name.rsplit_once(ends) {
        return (last, before.rsplit(ends).next().unwrap_or_default());
    }
    // `__film__actor__born_in`: two underscores stand between the segments of a name.
    match name
        .rsplit_once("__")
        .filter(|(before, last)| !before.is_empty() && !last.is_empty())
    {
        Some((before, last)) => (last, before.rsplit("__").next().unwrap_or_default()),
        None => (name, ""),
    }
}

/// The stems of the segment before the last one; a single letter or digit is a namespace's name.
pub(super) fn domain_stems(domain: &str) -> Vec<String> {
    if domain.chars().count() > 2 {
        stems(domain)
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_leave_out_letters() {
        for (name, word) in [
            ("wkday", "weekday"),
            ("hrly", "hourly"),
            ("rtg", "rating"),
            ("cd", "code"),
            ("sqm", "sqmetres"),
        ] {
            assert!(shortens(name, word), "{name} {word}");
        }
        for (name, word) in [
            ("rate", "rating"),
            ("cd", "country"),
            ("cd", "city"),
            ("rtg", "grating"),
            ("weekday", "weekday"),
            ("w", "weekday"),
        ] {
            assert!(!shortens(name, word), "{name} {word}");
        }
    }

    #[test]
    fn words_without_spaces_between_them_are_taken_apart() {
        let known = [
            "official", "head", "stat", "surfac", "area", "year", "name", "locat",
        ];
        let parts = |text: &str| compounds(text, |_| false, |stem| known.contains(&stem));
        for (name, words) in [
            ("headofstate", "head state"),
            ("isofficial", "official"),
            ("surfacearea", "surface area"),
            ("indepyear", "indep year"),
            ("location", "location"),
            ("surname", "surname"),
            ("heading", "heading"),
            ("gnp", "gnp"),
            ("year_of_area", "year of area"),
            ("Größenarea", "größen area"),
        ] {
            assert_eq!(parts(name), words);
        }
    }
}
