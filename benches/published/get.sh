#!/usr/bin/env bash
# Fetches seven public graphs from the packages that ship them, and measures their questions with the words alone.
#   benches/published/get.sh FOLDER [KGAGENT]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?a folder for the graphs and results}
kgagent=${2:-kgagent}
mkdir -p "$out"
fetch() { # package, path of its file, name here
    [ -f "$out/$3" ] && return
    local dir
    dir=$(mktemp -d)
    pip download --quiet --no-deps --no-binary :all: --dest "$dir" "$1"
    tar --extract --gzip --file "$dir"/*.tar.gz --directory "$dir" --wildcards "*/$2"
    cp "$dir"/*/"$2" "$out/$3"
    rm -r "$dir"
}
fetch rdflib==7.6.0 test/data/owl/pizza.owl pizza.owl
tests=tests/data/all_test_files/TestCase-WebOnt/miscellaneous
fetch funowl==0.2.3 "$tests/001.rdf" wine.rdf
fetch funowl==0.2.3 "$tests/002.rdf" food.rdf
fetch oaklib==0.7.4 tests/input/go-nucleus.owl.ttl go.ttl
fetch oaklib==0.7.4 tests/input/interneuron.owl.ttl inter.ttl
fetch oaklib==0.7.4 tests/input/soil-profile.skos.nt soil.nt
fetch rdflib==7.6.0 examples/foaf.n3 foaf.n3
# N3 writes `=` for owl:sameAs, Turtle does not.
sed 's/^\( *\)= /\1<http:\/\/www.w3.org\/2002\/07\/owl#sameAs> /' "$out/foaf.n3" > "$out/foaf.ttl"
if [ ! -f "$out/tbbt.nt" ]; then
    (cd "$out" && npm pack --silent tbbt-ld@1.1.0 && tar --extract --gzip --file tbbt-ld-1.1.0.tgz && mv package/dist/tbbt.nt . && rm -r package)
fi
measure() { # name, files
    local name=$1
    shift
    (cd "$out" && "$kgagent" kg load --replace --kg "$name.kg" "$@" && "$kgagent" eval --kg "$name.kg" --agent words --tools extended \
        --entities linked --candidates 32 --source "jsonl=$here/$name.jsonl" --out "$name.result")
}
measure pizza pizza.owl
measure wine wine.rdf food.rdf
measure go go.ttl
measure tbbt tbbt.nt
measure inter inter.ttl
measure foaf foaf.ttl
measure soil soil.nt
