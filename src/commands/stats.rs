//! `kgagent kg stats`: counts, named graphs and vocabulary of a graph.

use anyhow::Result;
use kg::term::{NodeId, RelId};
use kg::{FrozenKg, GraphFolder, Kg, Manifest, why_hidden};
use serde_json::{Value, json};

use super::graph;
use crate::cli::KgArg;
use crate::exit::ExitStatus;
use crate::ui::{Ui, header};

/// Relations and classes that are listed by name.
const NAMED: usize = 20;

pub(crate) fn run(args: &KgArg, ui: &Ui) -> Result<ExitStatus> {
    let mut manifest = GraphFolder::manifest(&args.kg)?;
    let kg = graph::open(args)?;
    if !args.graphs.is_empty() {
        (manifest.triples, manifest.entities, manifest.relations) =
            (kg.len(), kg.entity_count(), kg.relations().len());
        (manifest.literals, manifest.content_hash) =
            (kg.literal_count(), kg.content_hash().to_owned());
        (manifest.label_languages, manifest.graphs) = (kg.label_languages().to_vec(), Vec::new());
    }
    let vocabulary = Vocabulary::new(&kg);
    if ui.json() {
        ui.object(&vocabulary.object(&kg, &manifest)?);
    } else {
        vocabulary.print(&kg, &manifest, ui)?;
    }
    Ok(ExitStatus::Done)
}

/// Names of the instances of a class that are shown, and the width of their column.
const EXAMPLES: usize = 10;
const WIDTH: usize = 80;

/// How the first instances of a class are called, so that an owner sees what questions may name.
fn names_of(kg: &FrozenKg, class: NodeId) -> Vec<String> {
    let instances = kg.instances(class);
    let shown = instances.iter().take(EXAMPLES);
    let name = |&node: &NodeId| kg.label(node).unwrap_or_else(|| kg.name(node));
    shown.map(name).collect()
}

/// What a graph uses, most frequent first.
struct Vocabulary {
    /// Relations with the number of their triples.
    relations: Vec<(usize, RelId, String)>,
    /// Classes with the number of their instances.
    classes: Vec<(usize, NodeId, String)>,
    /// Relations that agents do not see, each with the reason.
    hidden: Vec<(String, &'static str)>,
    /// Number of entities that are statements without a name.
    statements: usize,
}

impl Vocabulary {
    fn new(kg: &FrozenKg) -> Self {
        let mut relations: Vec<_> = kg
            .relations()
            .iter()
            .map(|&r| (kg.pairs(r).len(), r, kg.name(r.node())))
            .collect();
        relations.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        let mut classes: Vec<_> = kg
            .classes()
            .iter()
            .map(|&class| (kg.instances(class).len(), class, kg.name(class)))
            .collect();
        classes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        let hidden = kg.relations().iter();
        Self {
            relations,
            classes,
            hidden: hidden
                .filter_map(|&r| Some((kg.name(r.node()), why_hidden(kg, r)?)))
                .collect(),
            statements: kg.entities().filter(|&node| kg.is_statement(node)).count(),
        }
    }

    fn object(&self, kg: &FrozenKg, manifest: &Manifest) -> Result<Value> {
        let counted = |count: &usize, name: &String| json!({ "name": name, "count": count });
        let hidden = self.hidden.iter();
        let relations = self.relations.iter();
        let classes = self.classes.iter();
        let mut value = serde_json::to_value(manifest)?;
        value["statements"] = json!(self.statements);
        value["names"] = json!(kg.label_index()?.len());
        value["hidden"] = hidden
            .map(|(name, why)| json!({ "name": name, "why": why }))
            .collect();
        value["relations_by_use"] = relations.map(|(n, _, name)| counted(n, name)).collect();
        value["classes_by_size"] = classes
            .map(|(n, class, name)| {
                let mut class_of = counted(n, name);
                class_of["names"] = json!(names_of(kg, *class));
                class_of
            })
            .collect();
        Ok(value)
    }

    fn print(&self, kg: &FrozenKg, manifest: &Manifest, ui: &Ui) -> Result<()> {
        graph::print_manifest(&serde_json::to_value(manifest)?, ui);
        if !manifest.graphs.is_empty() {
            let mut rows = header("named graph|count");
            rows.extend(manifest.graphs.iter().map(|graph| {
                let name = match graph.name.as_str() {
                    "" => "default",
                    name => name,
                };
                vec![name.to_owned(), graph.triples.to_string()]
            }));
            ui.say("");
            ui.table(&rows);
        }
        let settings = &manifest.settings;
        let switches = [
            (settings.subclasses, "; instances of subclasses count"),
            (
                settings.unify_directions,
                "; declared inverses are shown once",
            ),
        ];
        let switches = switches.iter().filter(|(on, _)| *on);
        ui.say(format!(
            "\n{} of the entities are statements without a name; {} names are indexed; \
             labels in {}{}; NOW is {}{}",
            self.statements,
            kg.label_index()?.len(),
            settings.languages.join(", "),
            labels_from(kg),
            settings.now.as_deref().unwrap_or("today"),
            switches.map(|(_, what)| *what).collect::<String>(),
        ));
        if !self.hidden.is_empty() {
            let mut rows = header("hidden relation|because");
            let hidden = self.hidden.iter();
            rows.extend(hidden.map(|(name, why)| vec![name.clone(), (*why).to_owned()]));
            ui.say("");
            ui.table(&rows);
        }
        self.print_relations(kg, ui);
        let classes = self.classes.iter().take(NAMED);
        let classes = classes.map(|(count, class, name)| {
            let mut names = names_of(kg, *class).join(", ");
            if let Some((cut, _)) = names.char_indices().nth(WIDTH) {
                names.truncate(cut);
                names.push('…');
            }
            vec![name.clone(), count.to_string(), names]
        });
        print_list(
            &["class", "count", "such as"],
            classes.collect(),
            self.classes.len(),
            ui,
        );
        Ok(())
    }

    /// Prints the most used relations, with their schema if the graph states one for any of them.
    fn print_relations(&self, kg: &FrozenKg, ui: &Ui) {
        let listed = &self.relations[..self.relations.len().min(NAMED)];
        let schema: Vec<[String; 3]> = listed.iter().map(|(_, r, _)| stated(kg, *r)).collect();
        let mut head = vec!["relation", "count"];
        let has_schema = schema.iter().flatten().any(|cell| !cell.is_empty());
        if has_schema {
            head.extend(["domain", "range", "reverse"]);
        }
        let rows = listed.iter().zip(schema).map(|((count, _, name), schema)| {
            let mut row = vec![name.clone(), count.to_string()];
            if has_schema {
                row.extend(schema);
            }
            row
        });
        print_list(&head, rows.collect(), self.relations.len(), ui);
    }
}

/// Where labels are from.
fn labels_from(kg: &FrozenKg) -> String {
    let relations = kg.schema().label_relations.iter();
    let names: Vec<String> = relations.map(|r| kg.name(r.node())).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(", from {}", names.join(", ")),
    }
}

/// Prints the first rows of a list of `all` items.
fn print_list(head: &[&str], rows: Vec<Vec<String>>, all: usize, ui: &Ui) {
    let more = all - rows.len();
    let mut table = vec![head.iter().map(|&cell| cell.to_owned()).collect()];
    table.extend(rows);
    ui.say("");
    ui.table(&table);
    if more > 0 {
        ui.say(format!("… and {more} more"));
    }
}

/// Domain, range and inverse of a relation, as stated in the graph.
fn stated(kg: &FrozenKg, relation: RelId) -> [String; 3] {
    let schema = kg.schema();
    let names = |nodes: &mut dyn Iterator<Item = NodeId>| {
        nodes
            .map(|node| class_name(kg, node))
            .collect::<Vec<_>>()
            .join(", ")
    };
    [
        names(&mut schema.domain(relation)),
        names(&mut schema.range(relation)),
        names(&mut schema.reverse(relation).map(RelId::node)),
    ]
}

/// The name of a class, or the names of the classes of which an unnamed one is the union.
fn class_name(kg: &FrozenKg, class: NodeId) -> String {
    let relation = |name: &str| kg.by_name(name).map(NodeId::relation);
    let lists = [
        relation("owl:unionOf"),
        relation("rdf:first"),
        relation("rdf:rest"),
    ];
    let [Some(union), Some(first), Some(rest)] = lists else {
        return kg.name(class);
    };
    let mut names = Vec::new();
    let mut at = kg.tails(class, union).first().copied();
    while let Some(place) = at.filter(|_| names.len() < EXAMPLES) {
        names.extend(kg.tails(place, first).iter().map(|&member| kg.name(member)));
        at = kg.tails(place, rest).first().copied();
    }
    if names.is_empty() {
        kg.name(class)
    } else {
        names.join(" or ")
    }
}
