//! Plain questions as people ask a new graph: a shop's database, then graphs with labels.

use crate::explain::check_answers;
use crate::support::graph_of;

/// A shop: its branches, staff, customers and orders. One product was never ordered, one customer has no phone.
const SHOP: &str = r#"
@base <http://shop.example/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<branch/branch_id=1> a <branch> ; <branch#branch_id> 1 ; <branch#name> "Harbour Street" .
<branch/branch_id=2> a <branch> ; <branch#branch_id> 2 ; <branch#name> "Mill Lane" .
<staff/staff_id=1> a <staff> ; <staff#staff_id> 1 ; <staff#first_name> "Ida" ; <staff#last_name> "Moss" ; <staff#salary> 31000 ; <staff#ref-branch_id> <branch/branch_id=1> .
<staff/staff_id=2> a <staff> ; <staff#staff_id> 2 ; <staff#first_name> "Sam" ; <staff#last_name> "Reed" ; <staff#salary> 28000 ; <staff#ref-branch_id> <branch/branch_id=1> .
<staff/staff_id=3> a <staff> ; <staff#staff_id> 3 ; <staff#first_name> "Ole" ; <staff#last_name> "Berg" ; <staff#salary> 35000 ; <staff#ref-branch_id> <branch/branch_id=2> .
<customer/customer_id=1> a <customer> ; <customer#customer_id> 1 ; <customer#first_name> "Una" ; <customer#last_name> "Hale" ; <customer#city> "Leeds" ; <customer#phone> "0113 1" .
<customer/customer_id=2> a <customer> ; <customer#customer_id> 2 ; <customer#first_name> "Raj" ; <customer#last_name> "Patel" ; <customer#city> "York" ; <customer#phone> "01904 2" .
<customer/customer_id=3> a <customer> ; <customer#customer_id> 3 ; <customer#first_name> "Lea" ; <customer#last_name> "Voss" ; <customer#city> "Leeds" .
<vehicle/vehicle_id=1> a <vehicle> ; <vehicle#vehicle_id> 1 ; <vehicle#model> "Combi" ; <vehicle#fuel_type> "Diesel" ; <vehicle#year> 2012 .
<vehicle/vehicle_id=2> a <vehicle> ; <vehicle#vehicle_id> 2 ; <vehicle#model> "Swift" ; <vehicle#fuel_type> "Electric" ; <vehicle#year> 2021 .
<vehicle/vehicle_id=3> a <vehicle> ; <vehicle#vehicle_id> 3 ; <vehicle#model> "Swift" ; <vehicle#fuel_type> "Electric" ; <vehicle#year> 2019 .
<orders/order_id=1> a <orders> ; <orders#order_id> 1 ; <orders#order_date> "2022-03-01"^^xsd:date ; <orders#total_amount> 20 ; <orders#status> "Paid" ; <orders#ref-customer_id> <customer/customer_id=1> ; <orders#ref-staff_id> <staff/staff_id=3> ; <orders#ref-pickup_branch_id> <branch/branch_id=1> .
<orders/order_id=2> a <orders> ; <orders#order_id> 2 ; <orders#order_date> "2023-05-09"^^xsd:date ; <orders#total_amount> 50 ; <orders#status> "Paid" ; <orders#ref-customer_id> <customer/customer_id=1> ; <orders#ref-staff_id> <staff/staff_id=1> ; <orders#ref-pickup_branch_id> <branch/branch_id=1> .
<orders/order_id=3> a <orders> ; <orders#order_id> 3 ; <orders#order_date> "2023-07-30"^^xsd:date ; <orders#total_amount> 35 ; <orders#status> "Open" ; <orders#ref-customer_id> <customer/customer_id=2> ; <orders#ref-staff_id> <staff/staff_id=3> ; <orders#ref-pickup_branch_id> <branch/branch_id=2> .
<track/track_id=1> a <track> ; <track#track_id> 1 ; <track#name> "Low Tide" ; <track#milliseconds> 120000 .
<track/track_id=2> a <track> ; <track#track_id> 2 ; <track#name> "Signal" ; <track#milliseconds> 360000 .
<track/track_id=3> a <track> ; <track#track_id> 3 ; <track#name> "Evening" ; <track#milliseconds> 240000 .
<playlist_track/id=1> a <playlist_track> ; <playlist_track#ref-track_id> <track/track_id=1> .
<playlist_track/id=2> a <playlist_track> ; <playlist_track#ref-track_id> <track/track_id=1> .
"#;

#[test]
fn names_of_columns_are_no_sums() {
    check_answers(
        &graph_of(SHOP),
        "; ",
        &[
            ("what is the total amount of order 3", "35"),
            ("total amount of the paid orders", "70"),
            (
                "Show the date and total amount of every order of Una Hale.",
                "2022-03-01 | 20; 2023-05-09 | 50",
            ),
            ("total sales in 2023", "85"),
        ],
    );
}

#[test]
fn a_kind_of_things_is_no_part_of_a_name() {
    let parts = r#"
@base <http://parts.example/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<supplier/1> a <supplier> ; <supplier#id> 1 ; <supplier#name> "Xanthor Sensors" .
<part/1> a <part> ; <part#id> 1 ; <part#name> "tilt one" ; <part#category> "sensor" ; <part#rohs> true ; <part#lead_time_days> 5 ; <part#supplier_id> <supplier/1> .
<part/2> a <part> ; <part#id> 2 ; <part#name> "light two" ; <part#category> "sensor" ; <part#rohs> false ; <part#lead_time_days> 9 ; <part#supplier_id> <supplier/1> .
<part/3> a <part> ; <part#id> 3 ; <part#name> "cell three" ; <part#category> "battery" ; <part#rohs> true ; <part#lead_time_days> 3 ; <part#supplier_id> <supplier/1> .
"#;
    check_answers(
        &graph_of(parts),
        "; ",
        &[
            ("average lead time of sensors", "7"),
            ("which sensors are not rohs compliant", "light two"),
        ],
    );
}

#[test]
fn values_are_computed_of_numbers_and_not_of_keys() {
    check_answers(
        &graph_of(SHOP),
        "; ",
        &[
            ("what is the average track length", "240000"),
            ("how long is the longest track", "360000"),
            ("which tracks are longer than 5 minutes", "Signal"),
            ("top 2 longest tracks", "Signal; Evening"),
            ("how many tracks are there", "3"),
        ],
    );
}

#[test]
fn things_are_grouped_by_a_column() {
    check_answers(
        &graph_of(SHOP),
        "; ",
        &[
            (
                "number of vehicles by fuel type",
                "Diesel | 1; Electric | 2",
            ),
            (
                "which staff work at Harbour Street",
                "Ida | Moss; Sam | Reed",
            ),
        ],
    );
}

#[test]
fn cars_are_vehicles_and_have_keys() {
    check_answers(
        &graph_of(SHOP),
        "; ",
        &[("oldest car", "1"), ("which cars are electric", "2 3")],
    );
}

#[test]
fn what_is_left_out_is_left_out_of_what_was_asked_for() {
    check_answers(
        &graph_of(SHOP),
        "; ",
        &[
            ("customers from Leeds without a phone", "Lea | Voss"),
            ("which customers have no orders", "Lea | Voss"),
            // Every branch has staff.
            ("which branches have no staff", "-"),
            ("customers with more than 5 orders", "-"),
        ],
    );
}

/// Agencies, missions and astronauts. Nobody knows where the discoverer of a moon was born.
const SPACE: &str = r#"
@prefix : <http://space.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Agency rdfs:label "agency" . :Mission rdfs:label "mission" . :Astronaut rdfs:label "astronaut" . :Moon rdfs:label "moon" .
:Person rdfs:label "person" . :City rdfs:label "city" . :Country rdfs:label "country" . :Course rdfs:label "course" .
:sitsOn rdfs:label "sits on" .
:norrin a :Country ; rdfs:label "Norrin" ; :demonym "Norrish" . :sedra a :Country ; rdfs:label "Sedra" ; :demonym "Sedran" .
:polar a :Agency ; rdfs:label "Northern Flight Bureau" ; :abbreviation "POLARIS" . :south a :Agency ; rdfs:label "Southern Institute" ; :abbreviation "SFI" .
:m1 a :Mission ; rdfs:label "Lantern One" ; :operator :polar ; :launchedFrom :harbin ; :launchDate "1981-02-03"^^xsd:date ; :endDate "1990-01-01"^^xsd:date ; :destination :brine ; :commander :ada .
:m2 a :Mission ; rdfs:label "Lantern Two" ; :operator :south ; :launchedFrom :harbin ; :launchDate "1984-06-07"^^xsd:date ; :endDate "1985-01-01"^^xsd:date ; :destination :brine ; :commander :ben .
:m3 a :Mission ; rdfs:label "Heron" ; :operator :polar ; :launchedFrom :ostby ; :launchDate "1999-08-09"^^xsd:date ; :endDate "2001-01-01"^^xsd:date ; :destination :tarn ; :commander :ada .
:harbin a :City ; rdfs:label "Harbin Point" . :ostby a :City ; rdfs:label "Ostby" .
:ada a :Astronaut ; rdfs:label "Ada Kvist" ; :nationality :norrin ; :birthPlace :ostby ; :awardReceived :comet , :star ; :sitsOn :board , :council .
:ben a :Astronaut ; rdfs:label "Ben Oduya" ; :nationality :norrin ; :birthPlace :harbin ; :sitsOn :board .
:cid a :Astronaut ; rdfs:label "Cid Marr" ; :nationality :sedra ; :birthPlace :harbin ; :awardReceived :comet .
:comet rdfs:label "Comet Prize" . :star rdfs:label "Star Medal" . :Committee rdfs:label "committee" .
:board a :Committee ; rdfs:label "Safety Board" . :council a :Committee ; rdfs:label "Flight Council" .
:brine a :Moon ; rdfs:label "Brine" ; :discoveredBy :eli . :tarn a :Moon ; rdfs:label "Tarn" ; :discoveredBy :fay .
:eli a :Person ; rdfs:label "Eli Rowan" . :fay a :Person ; rdfs:label "Fay Lunde" ; :birthPlace :ostby .
:algebra a :Course ; rdfs:label "Algebra" ; :requires :sets . :sets a :Course ; rdfs:label "Set Theory" ; :requires :logic .
:logic a :Course ; rdfs:label "Logic" .
"#;

#[test]
fn short_forms_mention_what_has_them() {
    check_answers(
        &graph_of(SPACE),
        "; ",
        &[
            ("Norrish astronauts with a Comet Prize", "ada"),
            ("POLARIS missions launched from Harbin Point", "m1"),
        ],
    );
}

#[test]
fn a_verb_says_which_way_a_relation_is_followed() {
    check_answers(
        &graph_of(SPACE),
        "; ",
        &[
            ("which courses require Set Theory", "algebra"),
            ("what does Set Theory require", "logic"),
        ],
    );
}

#[test]
fn nothing_is_answered_where_the_graph_lacks_what_is_asked() {
    check_answers(
        &graph_of(SPACE),
        "; ",
        &[
            ("where was the discoverer of Tarn born", "ostby"),
            ("where was the discoverer of Brine born", "-"),
            ("which astronauts from Norrin have never won a prize", "ben"),
            (
                "missions launched from Harbin Point that were not operated by the Northern Flight Bureau",
                "m2",
            ),
        ],
    );
}

#[test]
fn a_relation_of_the_graph_means_more_than_a_phrase() {
    check_answers(
        &graph_of(SPACE),
        "; ",
        &[
            ("who sits on the most committees", "ada"),
            ("first mission to Brine", "m1"),
        ],
    );
}

/// Rivers, the countries that they cross, cities and novels. The capital of Noria is one of its cities.
pub(crate) const LANDS: &str = r#"
@base <http://lands.example/> . @prefix : <http://lands.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:River rdfs:label "river" . :Country rdfs:label "country" . :City rdfs:label "city" . :Novel rdfs:label "novel" .
:crosses rdfs:label "flows through country" . :length rdfs:label "length in kilometres" . :area rdfs:label "area in square kilometres" .
:inhabitants rdfs:label "inhabitants of the country" . :population rdfs:label "population" . :inCountry rdfs:label "country" . :capital rdfs:label "capital" .
:published rdfs:label "year of publication" .
:noria a :Country ; rdfs:label "Noria" ; :area 5000 ; :inhabitants 900000 ; :capital :alt .
:sulia a :Country ; rdfs:label "Sulia" ; :area 7000 ; :inhabitants 800000 ; :capital :mir .
:westen a :Country ; rdfs:label "Westen" ; :area 9000 ; :inhabitants 700000 ; :capital :orm .
:alt a :City ; rdfs:label "Altmark" ; :inCountry :noria ; :population 300000 . :bry a :City ; rdfs:label "Brydal" ; :inCountry :noria ; :population 100000 .
:mir a :City ; rdfs:label "Miralt" ; :inCountry :sulia ; :population 200000 . :orm a :City ; rdfs:label "Ormsund" ; :inCountry :westen ; :population 150000 .
:ard a :River ; rdfs:label "Ardel" ; :length 900 ; :crosses :noria , :sulia , :westen .
:ben a :River ; rdfs:label "Benna" ; :length 700 ; :crosses :noria . :cam a :River ; rdfs:label "Camor" ; :length 500 ; :crosses :noria , :sulia .
:dra a :River ; rdfs:label "Drava" ; :length 300 ; :crosses :westen .
:one a :Novel ; rdfs:label "The Mill" ; :published "1799"^^xsd:gYear . :two a :Novel ; rdfs:label "The Ferry" ; :published "1801"^^xsd:gYear .
:three a :Novel ; rdfs:label "The Lamp" ; :published "1900"^^xsd:gYear . :four a :Novel ; rdfs:label "The Kite" ; :published "1954"^^xsd:gYear .
"#;

#[test]
fn a_number_before_a_kind_counts_it() {
    check_answers(
        &graph_of(LANDS),
        "; ",
        &[
            ("rivers through more than one country", "ard cam"),
            ("which rivers cross more than one country", "ard cam"),
            ("countries with more than one river", "noria sulia westen"),
        ],
    );
}

#[test]
fn centuries_and_ranks_are_used() {
    check_answers(
        &graph_of(LANDS),
        "; ",
        &[
            ("novels published in the 19th century", "three two"),
            ("twentieth-century novels", "four"),
            ("how many novels are from the nineteenth century", "2"),
            ("second longest river", "ben"),
            ("the third longest river", "cam"),
        ],
    );
}

#[test]
fn a_sum_is_of_several_numbers() {
    check_answers(
        &graph_of(LANDS),
        "; ",
        &[
            ("total population of all cities in Noria", "400000"),
            ("combined population of the cities in Noria", "400000"),
        ],
    );
}

/// Trials of drugs at hospitals, and the cities of two countries.
pub(crate) const CLINIC: &str = r#"
@base <http://clinic.example/> . @prefix : <http://clinic.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Trial rdfs:label "clinical trial" . :Disease rdfs:label "disease" . :Hospital rdfs:label "hospital" . :City rdfs:label "city" . :Country rdfs:label "country" .
:Person rdfs:label "person" . :Drug rdfs:label "drug" . :Stadium rdfs:label "stadium" . :Book rdfs:label "book" .
:studies rdfs:label "studies" . :started rdfs:label "start date" . :locatedIn rdfs:label "located in" . :country rdfs:label "country" . :riskFactor rdfs:label "risk factor" .
:treats rdfs:label "treats" . :born rdfs:label "place of birth" . :height rdfs:label "height in metres" . :currency rdfs:label "currency" . :seats rdfs:label "seats" .
:author rdfs:label "author" . :published rdfs:label "year of publication" . :borders rdfs:label "borders" .
:drift a :Trial ; rdfs:label "Driftwood trial" ; :studies :park ; :started "2021-03-01"^^xsd:date . :merid a :Trial ; rdfs:label "Meridian trial" ; :studies :gout ; :started "2019-03-01"^^xsd:date .
:xenia a :Trial ; rdfs:label "Xenia trial" ; :studies :gout ; :started "2022-03-01"^^xsd:date .
:park a :Disease ; rdfs:label "Parkinson's disease" ; :riskFactor :smoke . :gout a :Disease ; rdfs:label "Gout" ; :riskFactor :smoke . :hema a :Disease ; rdfs:label "Hemophilia A" .
:smoke rdfs:label "Smoking" . :levo a :Drug ; rdfs:label "Levodopa" ; :treats :park . :allo a :Drug ; rdfs:label "Allopurinol" ; :treats :gout .
:citadel a :Hospital ; rdfs:label "Citadel Hill" ; :locatedIn :halifax . :rosa a :Hospital ; rdfs:label "Rosa Vale" ; :locatedIn :lima .
:halifax a :City ; rdfs:label "Halifax" ; :country :canada . :lima a :City ; rdfs:label "Lima" ; :country :peru .
:canada a :Country ; rdfs:label "Canada" ; :currency :dollar ; :borders :peru . :peru a :Country ; rdfs:label "Peru" ; :currency :sol . :dollar rdfs:label "Canadian dollar" . :sol rdfs:label "Peruvian sol" .
:limast a :Stadium ; rdfs:label "Lima Stadium" ; :locatedIn :halifax ; :seats 900 . :olmos a :Stadium ; rdfs:label "Olmos Ground" ; :locatedIn :lima ; :seats 700 .
:ana a :Person ; rdfs:label "Ana Quispe" ; :born :lima ; :height 1.61 . :leo a :Person ; rdfs:label "Leo Marsh" ; :born :halifax ; :height 1.84 . :mia a :Person ; rdfs:label "Mia Torres" ; :born :lima ; :height 1.75 .
:hired rdfs:label "hire date" . :pia a :Person ; rdfs:label "Pia Lund" ; :hired "2017-03-27"^^xsd:date .
:salt a :Book ; rdfs:label "The Salt Road" ; :author :ana ; :published "1951"^^xsd:gYear .
"#;

#[test]
fn words_of_classes_are_no_parts_of_names() {
    check_answers(
        &graph_of(CLINIC),
        "; ",
        &[
            ("list all trials", "drift merid xenia"),
            ("how many trials are there", "3"),
            ("Trials that started in 2021 or later", "drift xenia"),
            ("for how many diseases is smoking a risk factor", "2"),
            ("what does the driftwood trial study", "park"),
        ],
    );
}

#[test]
fn names_lose_the_word_for_their_kind_and_places_name_no_buildings() {
    check_answers(
        &graph_of(CLINIC),
        "; ",
        &[
            ("parkinsons drugs", "levo"),
            ("which stadium in Lima has the most seats", "olmos"),
            ("show hospitals in canada", "citadel"),
        ],
    );
}

#[test]
fn what_is_the_same_as_of_another_leads_back() {
    check_answers(
        &graph_of(CLINIC),
        "; ",
        &[
            ("who was born in the same city as Ana Quispe", "ana mia"),
            (
                "trials of the same disease as the Xenia trial",
                "merid xenia",
            ),
        ],
    );
}

#[test]
fn messages_and_chatter_are_read() {
    check_answers(
        &graph_of(CLINIC),
        "; ",
        &[
            ("yo how tall is leo marsh", "1.84"),
            ("how many ppl were born in lima", "2"),
            (
                "I'm off to Lima next week, which currency should I bring?",
                "sol",
            ),
            ("people who don't even reach 1.70 m", "ana"),
            ("Ana Quispe was born in a city of which country?", "peru"),
        ],
    );
}

#[test]
fn births_deaths_years_and_doers_are_told_apart() {
    check_answers(
        &graph_of(CLINIC),
        "; ",
        &[
            ("where is Leo Marsh buried", "-"),
            ("the salt road publisher", "-"),
            ("when was the salt road published", "1951"),
            ("who coaches Leo Marsh", "-"),
            ("when is Pia Lund's birthday", "-"),
            ("when was Pia Lund hired", "2017-03-27"),
        ],
    );
}
