//! Questions on a graph that was made from a database, with a row for each key and a relation for each column, and
//! no labels.

use crate::explain::check_answers;
use crate::support::graph_of;

/// Hotels, their rooms and guests. Dates are texts.
const INN: &str = r#"
@base <http://inn.example/> .
<hotel/hotel_id=1> a <hotel> ; <hotel#hotel_id> 1 ; <hotel#hotel_name> "Mill House" ; <hotel#country> "Portugal" ; <hotel#opened_on> "1931-05-01" ; <hotel#has_pool> true .
<hotel/hotel_id=2> a <hotel> ; <hotel#hotel_id> 2 ; <hotel#hotel_name> "Quay Inn" ; <hotel#country> "Spain" ; <hotel#opened_on> "1999-03-04" ; <hotel#has_pool> false .
<hotel/hotel_id=3> a <hotel> ; <hotel#hotel_id> 3 ; <hotel#hotel_name> "Vale Lodge" ; <hotel#country> "Portugal" ; <hotel#opened_on> "1975-08-09" ; <hotel#has_pool> false .
<room_kind/kind_cd=SGL> a <room_kind> ; <room_kind#kind_cd> "SGL" ; <room_kind#kind_desc> "Single" ; <room_kind#price> 60 .
<room_kind/kind_cd=DBL> a <room_kind> ; <room_kind#kind_cd> "DBL" ; <room_kind#kind_desc> "Double" ; <room_kind#price> 90 .
<room/room_no=A%201> a <room> ; <room#room_no> "A 1" ; <room#len_m> 4 ; <room#ref-hotel_id> <hotel/hotel_id=1> ; <room#ref-kind_cd> <room_kind/kind_cd=SGL> .
<room/room_no=A%202> a <room> ; <room#room_no> "A 2" ; <room#len_m> 6 ; <room#ref-hotel_id> <hotel/hotel_id=1> ; <room#ref-kind_cd> <room_kind/kind_cd=DBL> .
<room/room_no=B%201> a <room> ; <room#room_no> "B 1" ; <room#len_m> 5 ; <room#ref-hotel_id> <hotel/hotel_id=2> ; <room#ref-kind_cd> <room_kind/kind_cd=DBL> .
<guest/guest_id=1> a <guest> ; <guest#guest_id> 1 ; <guest#fname> "Ana" ; <guest#lname> "Reis" ; <guest#home_city> "Porto" ; <guest#date_of_birth> "1957-01-18" .
<guest/guest_id=2> a <guest> ; <guest#guest_id> 2 ; <guest#fname> "Bo" ; <guest#lname> "Lind" ; <guest#home_city> "Malmo" ; <guest#date_of_birth> "1988-07-07" .
<guest/guest_id=3> a <guest> ; <guest#guest_id> 3 ; <guest#fname> "Cy" ; <guest#lname> "Dale" ; <guest#home_city> "Porto" ; <guest#date_of_birth> "1979-11-30" .
<stay/conf_no=K7> a <stay> ; <stay#conf_no> "K7" ; <stay#nights> 3 ; <stay#is_paid> true ; <stay#arrived_on> "2022-06-01" ; <stay#ref-guest_id> <guest/guest_id=1> ; <stay#ref-room_no> <room/room_no=A%201> .
<stay/conf_no=K8> a <stay> ; <stay#conf_no> "K8" ; <stay#nights> 5 ; <stay#is_paid> false ; <stay#arrived_on> "2023-02-11" ; <stay#ref-guest_id> <guest/guest_id=1> ; <stay#ref-room_no> <room/room_no=B%201> .
<stay/conf_no=K9> a <stay> ; <stay#conf_no> "K9" ; <stay#nights> 2 ; <stay#is_paid> true ; <stay#arrived_on> "2023-09-20" ; <stay#ref-guest_id> <guest/guest_id=2> ; <stay#ref-room_no> <room/room_no=B%201> .
"#;

#[test]
fn rows_are_answered_by_what_names_them() {
    let kg = graph_of(INN);
    check_answers(
        &kg,
        "; ",
        &[
            // A name, the two parts of one, a short description, and a key where there is no name.
            ("Which hotels are in Portugal?", "Mill House Vale Lodge"),
            ("guests who live in Porto", "Ana | Reis; Cy | Dale"),
            ("Which room kinds cost more than 70?", "Double"),
            ("Which rooms are longer than 4 metres?", "A 2 B 1"),
            ("Which room has the smallest length?", "A 1"),
        ],
    );
}

#[test]
fn keys_are_columns_where_the_question_names_them() {
    let kg = graph_of(INN);
    check_answers(
        &kg,
        "; ",
        &[
            ("Show the confirmation numbers of all stays.", "K7 K8 K9"),
            (
                "Show the confirmation numbers and nights of the stays.",
                "K7 | 3; K8 | 5; K9 | 2",
            ),
        ],
    );
}

#[test]
fn texts_that_are_dates_are_compared_as_dates() {
    let kg = graph_of(INN);
    check_answers(
        &kg,
        "; ",
        &[
            ("Which guests were born before 1960?", "Ana | Reis"),
            (
                "What are the first and last name of the youngest guest?",
                "Bo | Lind",
            ),
            (
                "Which hotel is the oldest, and when was it opened?",
                "Mill House | 1931-05-01",
            ),
            (
                "List the names of the hotels from the oldest hotel to the newest.",
                "Mill House; Vale Lodge; Quay Inn",
            ),
        ],
    );
}

#[test]
fn flags_are_denied_by_un_and_not_said_by_words_that_are_like_them() {
    let kg = graph_of(INN);
    check_answers(
        &kg,
        "; ",
        &[
            ("Which stays are unpaid?", "K8"),
            ("Which stays have been paid?", "K7 K9"),
            ("How many hotels have a pool?", "1"),
        ],
    );
}

#[test]
fn numbers_are_summed_counted_and_bounded() {
    let kg = graph_of(INN);
    check_answers(
        &kg,
        "; ",
        &[
            ("What is the total number of nights of the stays?", "10"),
            (
                "What are the lowest and the highest price of the room kinds?",
                "60 | 90",
            ),
            (
                "How many guests live in each home city?",
                "Malmo | 1; Porto | 2",
            ),
            ("How many different home cities are there?", "2"),
            (
                "Which room kinds are dearer than the average room kind?",
                "Double",
            ),
        ],
    );
}

#[test]
fn a_sentence_behind_the_question_lists_the_columns() {
    let kg = graph_of(INN);
    check_answers(
        &kg,
        "; ",
        &[
            (
                "Which guests live in Porto? First and last names please.",
                "Ana | Reis; Cy | Dale",
            ),
            (
                "Which hotels have no pool? Give their names.",
                "Quay Inn Vale Lodge",
            ),
        ],
    );
}
