//! Questions about tables as people ask them of databases: several limits, what is not so, what most have, the parts of texts,
//! and rows that say what somebody is.

use crate::explain::check_answers;
use crate::support::graph_of;

/// Peaks and the hikers on them; people, some of whom are guides; trips that link guides with peaks.
const HIKES: &str = r#"
@prefix p: <http://db.example/peak#> . @prefix h: <http://db.example/hiker#> . @prefix q: <http://db.example/people#> .
@prefix g: <http://db.example/guide#> . @prefix t: <http://db.example/has_peak#> .
<http://db.example/peak/peak_id=1> a <http://db.example/peak> ; p:peak_id 1 ; p:name "Grey Horn" ; p:height 3100 ; p:prominence 400 ; p:region "North" ; p:first_climbed 1901.0 ; p:hut "No" ; p:lift_flag "T" .
<http://db.example/peak/peak_id=2> a <http://db.example/peak> ; p:peak_id 2 ; p:name "Bear Tooth" ; p:height 2400 ; p:prominence 900 ; p:region "North" ; p:first_climbed 1930.0 ; p:hut "staffed" ; p:lift_flag "F" .
<http://db.example/peak/peak_id=3> a <http://db.example/peak> ; p:peak_id 3 ; p:name "Long Back" ; p:height 1900 ; p:prominence 300 ; p:region "South" ; p:first_climbed 1987.0 ; p:hut "No" ; p:lift_flag "F" .
<http://db.example/peak/peak_id=4> a <http://db.example/peak> ; p:peak_id 4 ; p:name "Bear Back" ; p:height 2200 ; p:prominence 250 ; p:region "East" ; p:first_climbed 1999.0 ; p:hut "No" ; p:lift_flag "F" .
<http://db.example/hiker/hiker_id=1> a <http://db.example/hiker> ; h:hiker_id 1 ; h:name "Ida Falk" ; h:age 31 ; h:organized_by "Alpine Club" ; h:peak_id 1 ; h:ref-peak_id <http://db.example/peak/peak_id=1> .
<http://db.example/hiker/hiker_id=2> a <http://db.example/hiker> ; h:hiker_id 2 ; h:name "Bruno Hald" ; h:age 20 ; h:organized_by "Alpine Club" ; h:peak_id 1 ; h:ref-peak_id <http://db.example/peak/peak_id=1> .
<http://db.example/hiker/hiker_id=3> a <http://db.example/hiker> ; h:hiker_id 3 ; h:name "Cleo Marr" ; h:age 45 ; h:organized_by "Free Walkers" ; h:peak_id 3 ; h:ref-peak_id <http://db.example/peak/peak_id=3> .
<http://db.example/people/people_id=7> a <http://db.example/people> ; q:people_id 7 ; q:name "Nils Aune" ; q:weight 82 ; q:date_of_birth "1980-02-01" .
<http://db.example/people/people_id=8> a <http://db.example/people> ; q:people_id 8 ; q:name "Vera Lunde" ; q:weight 64 ; q:date_of_birth "1991-07-11" .
<http://db.example/people/people_id=9> a <http://db.example/people> ; q:people_id 9 ; q:name "Odd Berge" ; q:weight 90 ; q:date_of_birth "1975-10-30" .
<http://db.example/guide/guide_id=1> a <http://db.example/guide> ; g:guide_id 1 ; g:agency "Summit Tours" ; g:people_id 7 ; g:ref-people_id <http://db.example/people/people_id=7> .
<http://db.example/guide/guide_id=2> a <http://db.example/guide> ; g:guide_id 2 ; g:agency "Ridge Walks" ; g:people_id 8 ; g:ref-people_id <http://db.example/people/people_id=8> .
_:a a <http://db.example/has_peak> ; t:peak_id 1 ; t:guide_id 1 ; t:ref-peak_id <http://db.example/peak/peak_id=1> ; t:ref-guide_id <http://db.example/guide/guide_id=1> .
_:b a <http://db.example/has_peak> ; t:peak_id 1 ; t:guide_id 2 ; t:ref-peak_id <http://db.example/peak/peak_id=1> ; t:ref-guide_id <http://db.example/guide/guide_id=2> .
_:c a <http://db.example/has_peak> ; t:peak_id 2 ; t:guide_id 2 ; t:ref-peak_id <http://db.example/peak/peak_id=2> ; t:ref-guide_id <http://db.example/guide/guide_id=2> .
_:d a <http://db.example/has_peak> ; t:peak_id 3 ; t:guide_id 1 ; t:ref-peak_id <http://db.example/peak/peak_id=3> ; t:ref-guide_id <http://db.example/guide/guide_id=1> .
_:e a <http://db.example/has_peak> ; t:peak_id 4 ; t:guide_id 1 ; t:ref-peak_id <http://db.example/peak/peak_id=4> ; t:ref-guide_id <http://db.example/guide/guide_id=1> .
"#;

fn check(cases: &[(&str, &str)]) {
    check_answers(&graph_of(HIKES), "; ", cases);
}

#[test]
fn each_number_is_compared_with_what_its_words_say() {
    check(&[
        (
            "names of peaks with a height over 3000 or a prominence over 800",
            "Bear Tooth Grey Horn",
        ),
        (
            "which regions have peaks higher than 3000 and peaks lower than 2500",
            "North",
        ),
        (
            "names of peaks with a height below 2000 or over 3000",
            "Grey Horn Long Back",
        ),
        ("peaks first climbed after 1980", "Bear Back Long Back"),
    ]);
}

#[test]
fn what_is_counted_is_not_compared() {
    check(&[
        ("names of the peaks with 1 hiker", "Long Back"),
        ("Show the region with the most number of peaks.", "North"),
        ("How many peaks are there?", "4"),
    ]);
}

#[test]
fn what_is_not_so_is_left_out() {
    check(&[
        ("names of hikers whose age is not 20", "Cleo Marr Ida Falk"),
        ("peaks whose region is not \"North\"", "Bear Back Long Back"),
        ("How many peaks do not have a hut?", "3"),
        (
            "names of all peaks except for those that had a hiker",
            "Bear Back Bear Tooth",
        ),
        (
            "Show all regions where no peak has a height over 2300.",
            "East South",
        ),
    ]);
}

#[test]
fn a_part_of_a_text_is_enough() {
    check(&[
        (
            "which peaks have the word 'Bear' in their name",
            "Bear Back Bear Tooth",
        ),
        ("names of peaks that end with 'Back'", "Bear Back Long Back"),
        ("How many peaks contain the word Bear in their names?", "2"),
        // Nothing has it, or those without it are asked for: then nothing else is listed.
        ("names of peaks without 'Bear' in their names", "-"),
        ("names of peaks that contain the word 'Xyzzy'", "-"),
    ]);
}

#[test]
fn the_names_of_guides_are_those_of_people() {
    check(&[
        ("What are the names of the guides?", "Nils Aune Vera Lunde"),
        ("What is the name of the heaviest guide?", "Nils Aune"),
        ("Show the agency of the heaviest guide.", "Summit Tours"),
    ]);
}

#[test]
fn columns_are_found_by_other_forms_of_their_names() {
    check(&[
        ("who is the organizer of Ida Falk", "Alpine Club"),
        (
            "What are the maximum and minimum height of the peaks?",
            "3100 | 1900",
        ),
        (
            "What is the average height and prominence of all peaks?",
            "2400 | 462.5",
        ),
    ]);
}
