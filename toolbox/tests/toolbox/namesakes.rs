//! What a row, a set or a mention is called: tables whose rows have codes, a Wikibase, surnames that are titles too. And what
//! is asked of two things.

use crate::explain::check_answers;
use crate::support::graph_of;

/// A garage and a gallery. Vehicles have plates, suppliers a company, venues a name and the name of a manager.
const TABLES: &str = r#"
@prefix v: <http://db.example/vehicle#> . @prefix s: <http://db.example/supplier#> . @prefix n: <http://db.example/venue#> .
@prefix a: <http://db.example/artist#> . @prefix w: <http://db.example/artwork#> . @prefix r: <http://db.example/room#> .
<http://db.example/vehicle/plate=KG14%20YWG> a <http://db.example/vehicle> ; v:plate "KG14 YWG" ; v:make "Skoda" ; v:fuel "electric" ; v:colour "red" ; v:yr_built 2016 .
<http://db.example/vehicle/plate=DL06%20DOL> a <http://db.example/vehicle> ; v:plate "DL06 DOL" ; v:make "Ford" ; v:fuel "diesel" ; v:colour "red" ; v:yr_built 2006 .
<http://db.example/vehicle/plate=TS22%20LFY> a <http://db.example/vehicle> ; v:plate "TS22 LFY" ; v:make "Ford" ; v:fuel "electric" ; v:colour "white" ; v:yr_built 2022 .
<http://db.example/supplier/supp_cd=BOS> a <http://db.example/supplier> ; s:supp_cd "BOS" ; s:company "Boschke" ; s:country "Germany" ; s:lead_days 3 .
<http://db.example/supplier/supp_cd=AVM> a <http://db.example/supplier> ; s:supp_cd "AVM" ; s:company "Avon Motors" ; s:country "Ireland" ; s:lead_days 9 .
<http://db.example/venue/venue_id=1> a <http://db.example/venue> ; n:venue_id 1 ; n:mgr_nm "Wanda Lis" ; n:vname "Ariston" ; n:yr_open 1951 .
<http://db.example/venue/venue_id=2> a <http://db.example/venue> ; n:venue_id 2 ; n:mgr_nm "Omar Reyes" ; n:vname "Miela" ; n:yr_open 2004 .
<http://db.example/artist/artist_no=1> a <http://db.example/artist> ; a:artist_no 1 ; a:full_name "Ada Berg" ; a:yob 1931 .
<http://db.example/artist/artist_no=2> a <http://db.example/artist> ; a:artist_no 2 ; a:full_name "Jon Lind" ; a:yob 1902 ; a:yod 1980 .
<http://db.example/room/room_cd=A1> a <http://db.example/room> ; r:room_cd "A1" ; r:rname "Blue Salon" ; r:aircon "N" .
<http://db.example/room/room_cd=B2> a <http://db.example/room> ; r:room_cd "B2" ; r:rname "Print Room" ; r:aircon "Y" .
<http://db.example/artwork/inv_no=11> a <http://db.example/artwork> ; w:inv_no 11 ; w:title "Dusk" ; w:room_cd "A1" ; w:ref-room_cd <http://db.example/room/room_cd=A1> ; w:ref-artist_no <http://db.example/artist/artist_no=1> .
<http://db.example/artwork/inv_no=12> a <http://db.example/artwork> ; w:inv_no 12 ; w:title "Dawn" ; w:room_cd "A1" ; w:ref-room_cd <http://db.example/room/room_cd=A1> ; w:ref-artist_no <http://db.example/artist/artist_no=2> .
<http://db.example/artwork/inv_no=13> a <http://db.example/artwork> ; w:inv_no 13 ; w:title "Noon" ; w:room_cd "B2" ; w:ref-room_cd <http://db.example/room/room_cd=B2> ; w:ref-artist_no <http://db.example/artist/artist_no=2> .
"#;

#[test]
fn rows_are_called_by_their_own_names_and_codes() {
    check_answers(
        &graph_of(TABLES),
        "; ",
        &[
            ("red electric cars", "KG14 YWG"),
            ("diesels built before 2008", "DL06 DOL"),
            ("German suppliers", "Boschke"),
            ("which venues opened after 2000", "Miela"),
            (
                "the names of the artists born after 1900, please",
                "Ada Berg Jon Lind",
            ),
            ("In which rooms are there two or more works?", "Blue Salon"),
        ],
    );
}

#[test]
fn hasty_questions_are_read_like_others() {
    check_answers(
        &graph_of(TABLES),
        "; ",
        &[
            ("wich of the artists are still alive", "Ada Berg"),
            ("rooms lacking air conditioning", "Blue Salon"),
            ("newest car", "TS22 LFY"),
        ],
    );
}

/// A Wikibase whose dump declares the relations of its properties.
const WIKIBASE: &str = r#"
@prefix wd: <http://www.wikidata.org/entity/> . @prefix wdt: <http://www.wikidata.org/prop/direct/> . @prefix p: <http://www.wikidata.org/prop/> .
@prefix ps: <http://www.wikidata.org/prop/statement/> . @prefix wikibase: <http://wikiba.se/ontology#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
wd:P17 a wikibase:Property ; rdfs:label "country"@en ; wikibase:directClaim wdt:P17 ; wikibase:claim p:P17 .
wd:P31 a wikibase:Property ; rdfs:label "instance of"@en ; wikibase:directClaim wdt:P31 ; wikibase:claim p:P31 .
wd:P37 a wikibase:Property ; rdfs:label "official language"@en ; wikibase:directClaim wdt:P37 ; wikibase:claim p:P37 .
wd:P2044 a wikibase:Property ; rdfs:label "elevation above sea level"@en ; wikibase:directClaim wdt:P2044 ; wikibase:claim p:P2044 .
wd:P137 a wikibase:Property ; rdfs:label "operator"@en ; wikibase:directClaim wdt:P137 ; wikibase:claim p:P137 ; wikibase:statementProperty ps:P137 .
wd:Q1 rdfs:label "country"@en . wd:Q2 rdfs:label "railway station"@en . wd:Q3 rdfs:label "metro station"@en . wd:Q4 rdfs:label "city"@en . wd:Q5 rdfs:label "town"@en .
wd:Q6 rdfs:label "railway company"@en .
wd:Q10 rdfs:label "Germany"@en ; wdt:P31 wd:Q1 ; wdt:P37 wd:Q90 . wd:Q11 rdfs:label "Switzerland"@en ; wdt:P31 wd:Q1 ; wdt:P37 wd:Q90 , wd:Q91 .
wd:Q90 rdfs:label "German"@en . wd:Q91 rdfs:label "French"@en .
wd:Q20 rdfs:label "Altona railway station"@en ; wdt:P31 wd:Q2 ; wdt:P17 wd:Q10 ; wdt:P137 wd:Q60 ; p:P137 wd:s1 . wd:s1 a wikibase:Statement ; ps:P137 wd:Q60 .
wd:Q21 rdfs:label "Celle railway station"@en ; wdt:P31 wd:Q2 ; wdt:P17 wd:Q10 ; wdt:P137 wd:Q60 .
wd:Q22 rdfs:label "Basel railway station"@en ; wdt:P31 wd:Q2 ; wdt:P17 wd:Q11 .
wd:Q30 rdfs:label "Alexanderplatz"@en ; wdt:P31 wd:Q3 ; wdt:P17 wd:Q10 .
wd:Q40 rdfs:label "Hamburg"@en ; wdt:P31 wd:Q4 ; wdt:P17 wd:Q10 ; wdt:P2044 6 . wd:Q41 rdfs:label "Bern"@en ; wdt:P31 wd:Q4 ; wdt:P17 wd:Q11 ; wdt:P2044 540 .
wd:Q50 rdfs:label "Norden"@en ; wdt:P31 wd:Q5 ; wdt:P17 wd:Q10 ; wdt:P2044 2 .
wd:Q60 rdfs:label "Nordbahn"@en ; wdt:P31 wd:Q6 ; wdt:P17 wd:Q10 .
"#;

#[test]
fn classes_and_relations_of_a_wikibase_are_no_mentions() {
    check_answers(
        &graph_of(WIKIBASE),
        "; ",
        &[
            ("railway stations in Germany", "wd:Q20 wd:Q21"),
            ("stations in germany", "wd:Q20 wd:Q21"),
            ("countries with two or more official languages", "wd:Q11"),
            ("how many stations does Nordbahn operate", "2"),
            ("What city lies the lowest?", "wd:Q40"),
            (
                "which country has more official languages, Germany or Switzerland?",
                "wd:Q11",
            ),
        ],
    );
}

/// Operas and people without classes.
const OPERAS: &str = r#"
@prefix : <http://opera.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:language rdfs:label "language" . :director rdfs:label "directed by" . :starring rdfs:label "starring" . :born rdfs:label "date of birth" . :nationality rdfs:label "nationality" .
:carmela rdfs:label "Carmela" ; :language :italian ; :director :voss ; :starring :ines , :omar .
:ostwind rdfs:label "Ostwind" ; :language :german ; :director :voss ; :starring :omar .
:film_voss rdfs:label "Voss" ; :language :german ; :director :wanda ; :starring :ines .
:italian rdfs:label "Italian language" . :german rdfs:label "German language" .
:voss rdfs:label "Paul Voss" ; :born "1931-02-02"^^xsd:date ; :nationality :norway . :wanda rdfs:label "Wanda Lis" ; :born "1940-02-02"^^xsd:date ; :nationality :poland .
:ines rdfs:label "Ines Calvo" ; :born "1950-02-02"^^xsd:date ; :nationality :poland . :omar rdfs:label "Omar Reyes" ; :born "1960-02-02"^^xsd:date ; :nationality :norway .
:norway rdfs:label "Norway" . :poland rdfs:label "Poland" .
"#;

#[test]
fn a_surname_means_its_bearer_where_the_question_says_so() {
    check_answers(
        &graph_of(OPERAS),
        "; ",
        &[
            ("Voss's films", "carmela ostwind"),
            ("who directed Voss", "wanda"),
            ("Is Carmela in Italian?", "true"),
        ],
    );
}

#[test]
fn two_things_are_compared_by_the_number_of_what_they_have() {
    check_answers(
        &graph_of(OPERAS),
        "; ",
        &[
            ("who directed more films, Paul Voss or Wanda Lis?", "voss"),
            ("Who directed fewer films: Paul Voss or Wanda Lis?", "wanda"),
        ],
    );
}

#[test]
fn questions_for_yes_or_no_come_in_many_forms() {
    check_answers(
        &graph_of(OPERAS),
        "; ",
        &[
            ("was Wanda Lis Norwegian", "false"),
            ("Wanda Lis, was she Polish?", "true"),
            ("Wanda Lis, Ines Calvo: who was the elder?", "wanda"),
            ("Who was born sooner: Ines Calvo or Omar Reyes?", "ines"),
        ],
    );
}
