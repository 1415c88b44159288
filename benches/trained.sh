#!/usr/bin/env bash
# The figures of docs/results.md that need a training on published questions, in about 40 minutes on two cores: a
# table of the question sets with their right answers in decide mode.
#
#   benches/trained.sh KGAGENT DATASETS OUT
#
# KGAGENT is a binary built for release. DATASETS has the folders cwq-mini, dbpedia-slice, metaqa and
# pathquestion. What stands in OUT is not made again: to measure another version with the same models, delete
# OUT/eval. OUT/table.md is the table.
set -euo pipefail

kgagent=${1:?usage: benches/trained.sh KGAGENT DATASETS OUT}
datasets=$(cd "${2:?DATASETS is missing}" && pwd)
out=${3:?OUT is missing}
mkdir -p "$out/eval"
cd "$out"

# once FOLDER COMMAND…: runs a command that writes a folder, unless it exists.
once() {
    local folder=$1
    shift
    [ -e "$folder" ] || "$@" >>log 2>&1 || { tail -5 log >&2; exit 1; }
}
graph() { # NAME FILE…
    local name=$1
    shift
    once "$name" "$kgagent" kg load --kg "$name" "$@"
}
data() { # NAME gold|synth GRAPH OPTION…
    local name=$1 kind=$2 graph=$3
    shift 3
    once "$name" "$kgagent" datagen "$kind" --kg "$graph" "$@" --out "$name"
}
model() { # NAME DATA OPTION…
    local name=$1 data=$2
    shift 2
    once "$name" "$kgagent" train --data "$data" "$@" --out "$name"
}
# asked TITLE NAME GRAPH MODEL SOURCE OPTION…: writes a row of the table.
asked() {
    local title=$1 name=$2 graph=$3 model=$4 source=$5
    shift 5
    once "eval/$name" "$kgagent" eval --kg "$graph" --model "$model" --source "$source" "$@" --out "eval/$name"
    python3 - "$title" "eval/$name/metrics.json" >>table.md <<'P'
import json, sys
m = json.load(open(sys.argv[2]))
print(f"| {sys.argv[1]} | {m['n']} | {m['exact']:.3f} | {m['hits_at_1']:.3f} |")
P
    tail -1 table.md
}
printf '| questions | number | exact | Hits@1 |\n|---|---|---|---|\n' >table.md
cat table.md

# ComplexWebQuestions: synthesised questions, then the training part.
cwq=cwq=$datasets/cwq-mini/questions.json.gz
graph cwq.graph "$datasets/cwq-mini/kg.nt.gz"
data cwq.synth synth cwq.graph --count 4000 --relations name
model cwq.first cwq.synth --base scratch:tiny --epochs 2
data cwq.gold gold cwq.graph --source "$cwq#train"
model cwq.model cwq.gold --base cwq.first --epochs 24 --lr 1e-3
for entities in gold linked; do
    asked "ComplexWebQuestions slice, held out, entities $entities" "cwq.$entities" cwq.graph cwq.model "$cwq#heldout" --entities "$entities"
done

# PathQuestion-Large: relations that are held back, held-out questions, and synthesised questions alone.
zcat "$datasets"/pathquestion/PQL-{2,3}H.txt.gz >pql.txt
for part in 2 3; do zcat "$datasets/pathquestion/PQL$part-KB.txt.gz" >"PQL$part-KB.tsv"; done
graph pql.graph PQL2-KB.tsv PQL3-KB.tsv
pql=pathquestion=pql.txt
for parts in seen:60,unseen:60 train,heldout; do
    IFS=, read -r part asked <<<"$parts"
    data "pql.$part" gold pql.graph --source "$pql#$part" --abstain 0 --relations mention --scramble 0.5
    model "pql.$part.model" "pql.$part" --base scratch:tiny --epochs 8
    asked "PathQuestion-Large, trained on #$part, asked #$asked" "pql.$asked" pql.graph "pql.$part.model" "$pql#$asked"
done
data pql.synth synth pql.graph --count 4000
model pql.synth.model pql.synth --base scratch:tiny --epochs 3
asked "PathQuestion-Large, synthesised questions alone, linked" pql.synth pql.graph pql.synth.model "$pql" --entities linked

# The DBpedia slice: synthesised questions alone.
graph dbpedia.graph "$datasets/dbpedia-slice/kg.nt.gz"
data dbpedia.synth synth dbpedia.graph --count 4000
model dbpedia.model dbpedia.synth --base scratch:tiny --epochs 3
for set in lcquad1 qald9; do
    asked "$set on the DBpedia slice, synthesised questions alone, linked" "$set" dbpedia.graph dbpedia.model "jsonl=$datasets/dbpedia-slice/$set.json.gz" --entities linked
done

# MetaQA: a tenth of its questions.
graph metaqa.graph "$datasets/metaqa/kb.txt.gz"
data metaqa.gold gold metaqa.graph --source "metaqa=$datasets/metaqa#train" --abstain 0 --count 3422
model metaqa.model metaqa.gold --base scratch:tiny --epochs 8
for hops in 1 2 3; do
    asked "MetaQA, a tenth of the questions, held out, hops: $hops" "metaqa.$hops" metaqa.graph metaqa.model "metaqa=$datasets/metaqa/$hops-hop#heldout" --limit 500
done
