//! Questions on a graph that was made from a database, with a row for each key and a relation for each column, and
//! no labels.

use kg::Kg;

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

/// Clubs, their players and who ranks where. One club has no website, and players have the name of their coach.
const CLUBS: &str = r#"
@base <http://clubs.example/> .
<countries/country_id=1> a <countries> ; <countries#country_id> 1 ; <countries#country_name> "Malta" ; <countries#continent> "Europe" .
<countries/country_id=2> a <countries> ; <countries#country_id> 2 ; <countries#country_name> "Kenya" ; <countries#continent> "Africa" .
<clubs/club_id=1> a <clubs> ; <clubs#club_id> 1 ; <clubs#club_name> "Old Mill" ; <clubs#town> "Sliema" ; <clubs#founded_year> 1921 ; <clubs#fee> 100 ; <clubs#website> "mill.example" ; <clubs#ref-country_id> <countries/country_id=1> .
<clubs/club_id=2> a <clubs> ; <clubs#club_id> 2 ; <clubs#club_name> "Racquets" ; <clubs#town> "Sliema" ; <clubs#founded_year> 1988 ; <clubs#fee> 60 ; <clubs#website> "rac.example" ; <clubs#ref-country_id> <countries/country_id=1> .
<clubs/club_id=3> a <clubs> ; <clubs#club_id> 3 ; <clubs#club_name> "Acacia" ; <clubs#town> "Nyeri" ; <clubs#founded_year> 1929 ; <clubs#fee> 20 ; <clubs#ref-country_id> <countries/country_id=2> .
<players/player_id=11> a <players> ; <players#player_id> 11 ; <players#coach_name> "Eva Lund" ; <players#fname> "Ana" ; <players#lname> "Zupan" ; <players#gender> "F" ; <players#job_title> "teacher" ; <players#height_cm> 170 ; <players#salary> 900 ; <players#ref-club_id> <clubs/club_id=1> .
<players/player_id=12> a <players> ; <players#player_id> 12 ; <players#coach_name> "Eva Lund" ; <players#fname> "Bo" ; <players#lname> "Borg" ; <players#gender> "M" ; <players#job_title> "smith" ; <players#height_cm> 190 ; <players#salary> 500 ; <players#ref-club_id> <clubs/club_id=1> .
<players/player_id=13> a <players> ; <players#player_id> 13 ; <players#fname> "Cleo" ; <players#lname> "Eide" ; <players#gender> "F" ; <players#job_title> "smith" ; <players#height_cm> 186 ; <players#salary> 700 ; <players#ref-club_id> <clubs/club_id=2> .
<rankings/rank_id=21> a <rankings> ; <rankings#rank_id> 21 ; <rankings#points> 40 ; <rankings#ref-player_id> <players/player_id=11> .
<rankings/rank_id=22> a <rankings> ; <rankings#rank_id> 22 ; <rankings#points> 30 ; <rankings#ref-player_id> <players/player_id=11> .
<rankings/rank_id=23> a <rankings> ; <rankings#rank_id> 23 ; <rankings#points> 20 ; <rankings#ref-player_id> <players/player_id=13> .
"#;

#[test]
fn what_has_no_value_of_a_column_is_found() {
    let kg = graph_of(CLUBS);
    check_answers(
        &kg,
        "; ",
        &[
            ("Which clubs have no website?", "Acacia"),
            ("names of clubs that don't have a website", "Acacia"),
            ("clubs without a website", "Acacia"),
        ],
    );
}

#[test]
fn members_are_counted_and_not_what_they_have() {
    let kg = graph_of(CLUBS);
    check_answers(
        &kg,
        "; ",
        &[
            ("How many female players do we have?", "2"),
            ("How many clubs have more than 1 player?", "1"),
            ("What is the number of clubs with at least one player?", "2"),
            ("How many players are taller than the average?", "2"),
            ("How many clubs have a fee below the average?", "1"),
            (
                "How many players does every club have? List the club name and the count.",
                "Old Mill | 2; Racquets | 1",
            ),
        ],
    );
}

#[test]
fn columns_are_named_in_many_places() {
    let kg = graph_of(CLUBS);
    check_answers(
        &kg,
        "; ",
        &[
            (
                "clubs founded before 1930 - name and town",
                "Acacia | Nyeri; Old Mill | Sliema",
            ),
            (
                "Give me every club's name along with its town",
                "Acacia | Nyeri; Old Mill | Sliema; Racquets | Sliema",
            ),
            (
                "Show the first name, last name and job of each player.",
                "Ana | Zupan | teacher; Bo | Borg | smith; Cleo | Eide | smith",
            ),
            (
                "List the last name of each player together with the name of his or her club.",
                "Borg | Old Mill; Eide | Racquets; Zupan | Old Mill",
            ),
            (
                "What are the names and heights of the female players?",
                "Ana | Zupan | 170; Cleo | Eide | 186",
            ),
            ("Which countries are in Africa?", "Kenya"),
            (
                "Which clubs are in Malta or Kenya, and their towns?",
                "Acacia | Nyeri; Old Mill | Sliema; Racquets | Sliema",
            ),
            (
                "What town is Old Mill in and what is its fee?",
                "Sliema | 100",
            ),
        ],
    );
}

#[test]
fn several_things_are_computed_of_a_column() {
    let kg = graph_of(CLUBS);
    check_answers(
        &kg,
        "; ",
        &[
            (
                "Show the minimum, maximum and average fee of the clubs.",
                "20 | 100 | 60",
            ),
            (
                "Give the smallest, the largest and the average fee of a club.",
                "20 | 100 | 60",
            ),
            (
                "List each town with the average fee of its clubs.",
                "Nyeri | 20; Sliema | 80",
            ),
            (
                "Show the last names of the two best paid players.",
                "Zupan; Eide",
            ),
            (
                "Which players are paid more than the average player? Give last name and salary.",
                "Zupan | 900",
            ),
        ],
    );
    check_answers(
        &graph_of(INN),
        "; ",
        &[(
            "Show the description and the price of the room kinds that cost more than 70.",
            "Double | 90",
        )],
    );
}

/// Who sings in which choir, with a role that may be that of a member.
const CHOIRS: &str = r#"
@base <http://choir.example/> .
<choirs/choir_id=1> a <choirs> ; <choirs#choir_id> 1 ; <choirs#choir_name> "Altos" .
<choirs/choir_id=2> a <choirs> ; <choirs#choir_id> 2 ; <choirs#choir_name> "Basses" .
<singers/singer_id=1> a <singers> ; <singers#singer_id> 1 ; <singers#fname> "Ana" ; <singers#lname> "Reis" .
<singers/singer_id=2> a <singers> ; <singers#singer_id> 2 ; <singers#fname> "Bo" ; <singers#lname> "Lind" .
<singers/singer_id=3> a <singers> ; <singers#singer_id> 3 ; <singers#fname> "Cy" ; <singers#lname> "Dale" .
<choir_membership/m_id=1> a <choir_membership> ; <choir_membership#m_id> 1 ; <choir_membership#role_cd> "member" ; <choir_membership#ref-choir_id> <choirs/choir_id=1> ; <choir_membership#ref-singer_id> <singers/singer_id=1> .
<choir_membership/m_id=2> a <choir_membership> ; <choir_membership#m_id> 2 ; <choir_membership#role_cd> "chair" ; <choir_membership#ref-choir_id> <choirs/choir_id=1> ; <choir_membership#ref-singer_id> <singers/singer_id=2> .
<choir_membership/m_id=3> a <choir_membership> ; <choir_membership#m_id> 3 ; <choir_membership#role_cd> "member" ; <choir_membership#ref-choir_id> <choirs/choir_id=2> ; <choir_membership#ref-singer_id> <singers/singer_id=3> .
<choir_membership/m_id=4> a <choir_membership> ; <choir_membership#m_id> 4 ; <choir_membership#role_cd> "member" ; <choir_membership#ref-choir_id> <choirs/choir_id=2> ; <choir_membership#ref-singer_id> <singers/singer_id=2> .
"#;

#[test]
fn all_rows_of_memberships_are_of_members() {
    check_answers(
        &graph_of(CHOIRS),
        "; ",
        &[
            (
                "Which singers are members of Altos?",
                "Ana | Reis; Bo | Lind",
            ),
            (
                "How many members does each choir have?",
                "Altos | 2; Basses | 2",
            ),
        ],
    );
}

/// Depots called by codes, and wagons by numbers. Their states are short codes.
const DEPOTS: &str = r#"
@base <http://depot.example/> .
<depot/NOR> a <depot> ; <depot#depot_cd> "NOR" ; <depot#depot_name> "Northgate" ; <depot#num_tracks> 9 .
<depot/QUA> a <depot> ; <depot#depot_cd> "QUA" ; <depot#depot_name> "Quayside" ; <depot#num_tracks> 4 .
<driver/1> a <driver> ; <driver#driver_id> 1 ; <driver#fname> "Ana" ; <driver#lname> "Reis" ; <driver#ht_cm> 181 ; <driver#salary> 900 ; <driver#ref-depot_cd> <depot/NOR> .
<driver/2> a <driver> ; <driver#driver_id> 2 ; <driver#fname> "Bo" ; <driver#lname> "Lind" ; <driver#ht_cm> 170 ; <driver#salary> 700 ; <driver#ref-depot_cd> <depot/QUA> .
<wagon/1> a <wagon> ; <wagon#wagon_id> 1 ; <wagon#wagon_name> "Ox" ; <wagon#maker> "Alder" ; <wagon#animal> "Cat" ; <wagon#status> "RT" ; <wagon#ref-depot_cd> <depot/NOR> .
<wagon/2> a <wagon> ; <wagon#wagon_id> 2 ; <wagon#wagon_name> "Elk" ; <wagon#maker> "Birch" ; <wagon#animal> "Dog" ; <wagon#status> "RP" ; <wagon#ref-depot_cd> <depot/NOR> .
<wagon/3> a <wagon> ; <wagon#wagon_id> 3 ; <wagon#wagon_name> "Hind" ; <wagon#maker> "Alder" ; <wagon#animal> "Dog" ; <wagon#status> "AV" ; <wagon#ref-depot_cd> <depot/QUA> .
<wagon/4> a <wagon> ; <wagon#wagon_id> 4 ; <wagon#wagon_name> "Mule" ; <wagon#maker> "Alder" ; <wagon#animal> "Dog" ; <wagon#status> "AV" ; <wagon#ref-depot_cd> <depot/QUA> .
<wagon/5> a <wagon> ; <wagon#wagon_id> 5 ; <wagon#wagon_name> "Roe" ; <wagon#maker> "Birch" ; <wagon#animal> "Dog" ; <wagon#status> "AV" ; <wagon#ref-depot_cd> <depot/QUA> .
"#;

#[test]
fn rows_called_by_numbers_or_codes_have_names_too() {
    check_answers(
        &graph_of(DEPOTS),
        "; ",
        &[
            ("Which depot has the most tracks?", "Northgate"),
            ("Which wagons are in Quayside?", "Hind Mule Roe"),
            // A part of a name, where the question asks for it behind a comma.
            ("drivers taller than 175 cm, last names", "Reis"),
        ],
    );
}

#[test]
fn short_codes_are_said_by_words() {
    check_answers(
        &graph_of(DEPOTS),
        "; ",
        &[
            ("Which wagons have been retired?", "Ox"),
            ("wagons in for repair", "Elk"),
            ("Number of wagons currently available", "3"),
        ],
    );
}

#[test]
fn what_is_counted_and_measured_is_what_the_question_names() {
    check_answers(
        &graph_of(DEPOTS),
        "; ",
        &[
            ("How many different makers are there?", "2"),
            ("how many dogs are there", "4"),
            ("whats the highest salary of any driver", "900"),
        ],
    );
}

/// A record shop: albums have a title and a label, employees a name and a title.
const SHOP: &str = r#"
@base <http://shop.example/> .
<artist/id=1> a <artist> ; <artist#id> 1 ; <artist#name> "Iron Pelican" .
<artist/id=2> a <artist> ; <artist#id> 2 ; <artist#name> "Marisol Vega" .
<album/id=1> a <album> ; <album#id> 1 ; <album#label> "Anvil Works" ; <album#title> "Scrapyard Hymns" ; <album#ref-artist_id> <artist/id=1> .
<album/id=2> a <album> ; <album#id> 2 ; <album#label> "Anvil Works" ; <album#title> "Feathers and Steel" ; <album#ref-artist_id> <artist/id=1> .
<album/id=3> a <album> ; <album#id> 3 ; <album#label> "Casa Luna" ; <album#title> "Cartas del Sur" ; <album#year> 1999 ; <album#ref-artist_id> <artist/id=2> .
<employee/id=1> a <employee> ; <employee#id> 1 ; <employee#title> "GM" ; <employee#first_name> "Helen" ; <employee#last_name> "Marsh" .
<employee/id=2> a <employee> ; <employee#id> 2 ; <employee#title> "Buyer" ; <employee#first_name> "Gideon" ; <employee#last_name> "Marsh" ; <employee#ref-reports_to> <employee/id=1> .
<employee/id=3> a <employee> ; <employee#id> 3 ; <employee#title> "Clerk" ; <employee#first_name> "Mei" ; <employee#last_name> "Tanaka" ; <employee#ref-reports_to> <employee/id=2> .
<invoice/id=1> a <invoice> ; <invoice#id> 1 ; <invoice#total> 4 ; <invoice#city> "Oslo" ; <invoice#ref-clerk> <employee/id=3> .
<invoice/id=2> a <invoice> ; <invoice#id> 2 ; <invoice#total> 10 ; <invoice#city> "Oslo" ; <invoice#ref-clerk> <employee/id=3> .
<invoice/id=3> a <invoice> ; <invoice#id> 3 ; <invoice#total> 6 ; <invoice#city> "Bergen" ; <invoice#ref-clerk> <employee/id=2> .
"#;

#[test]
fn a_title_or_a_label_beside_a_name_is_no_name() {
    let kg = graph_of(SHOP);
    check_answers(
        &kg,
        "; ",
        &[
            (
                "Which albums were recorded by Iron Pelican?",
                "Feathers and Steel Scrapyard Hymns",
            ),
            ("who does Mei Tanaka report to", "Gideon | Marsh"),
            ("label of Cartas del Sur", "Casa Luna"),
            // `GM` is a title before it is Gideon Marsh.
            ("which employees have the title GM", "Helen | Marsh"),
        ],
    );
}

#[test]
fn totals_are_columns_and_plurals_are_counted_per_key() {
    let kg = graph_of(SHOP);
    check_answers(
        &kg,
        "; ",
        &[
            (
                "What is the average invoice total for each city?",
                "6 | Bergen; 7 | Oslo",
            ),
            ("revenue by city", "14 | Oslo; 6 | Bergen"),
            ("albums per label", "Anvil Works | 2; Casa Luna | 1"),
            (
                "For each label, show its name together with the number of albums.",
                "Anvil Works | 2; Casa Luna | 1",
            ),
            // Keywords may name several columns, whatever they are.
            (
                "cities and totals of the invoices by Gideon Marsh",
                "Bergen | 6",
            ),
            ("year + label of Cartas del Sur", "1999 | Casa Luna"),
            (
                "List the invoice totals and the cities, from most to least expensive.",
                "10 | Oslo; 6 | Bergen; 4 | Oslo",
            ),
            ("which invoices arent from Oslo? give the city", "Bergen"),
            // Both parts of a name, also of rows without something.
            ("Which employees have no invoice?", "Helen | Marsh"),
        ],
    );
}

#[test]
fn titles_that_a_few_things_share_are_names() {
    let mut turtle = String::from(
        "@prefix : <http://songs.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n",
    );
    // The first titles in order are one.
    let titles = std::iter::repeat_n("Aria".to_owned(), 8)
        .chain((0..20).map(|at| format!("Ballad {at}")))
        .chain(["Night Train".to_owned()]);
    for (at, title) in titles.enumerate() {
        turtle.push_str(&format!(
            ":s{at} a :song ; rdfs:label \"Track {at}\" ; :title \"{title}\" ; :year {} .\n",
            1900 + at
        ));
    }
    let kg = graph_of(&turtle);
    let aliases = &kg.schema().alias_relations;
    assert!(
        aliases
            .iter()
            .any(|id| kg.name(id.node()).ends_with("title"))
    );
    check_answers(&kg, "; ", &[("year of Night Train", "1928")]);
}
