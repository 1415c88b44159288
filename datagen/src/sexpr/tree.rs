//! From trees to logical forms: `(AND a b)`, `(JOIN r a)`, `(JOIN (R r) a)`, `(ARGMAX a r)`,
//! `(ARGMIN a r)`, `(COUNT a)`, `(lt r v)` and the like.

use kg::value::{Extreme, Op};

use super::logical_form::{FormNode, LogicalForm, NodeFunction, literal_of};
use super::parse::{SexprError, Tree};

/// The logical form of a whole expression; its first node is the answer.
pub(super) fn pattern(tree: &Tree) -> Result<LogicalForm, SexprError> {
    let mut pattern = LogicalForm {
        nodes: vec![FormNode::Any(Vec::new())],
        ..LogicalForm::default()
    };
    match call(tree) {
        Some(("COUNT", [set])) => {
            pattern.count = true;
            fill(&mut pattern, 0, set)?;
        }
        _ => fill(&mut pattern, 0, tree)?,
    }
    Ok(pattern)
}

/// The operator and the arguments of a list.
fn call(tree: &Tree) -> Option<(&str, &[Tree])> {
    match tree {
        Tree::List(list, _) => match list.split_first()? {
            (Tree::Word(name, _), arguments) => Some((name.as_str(), arguments)),
            _ => None,
        },
        Tree::Word(..) => None,
    }
}

/// Adds the conditions of an expression to a node.
fn fill(pattern: &mut LogicalForm, node: usize, tree: &Tree) -> Result<(), SexprError> {
    if let Tree::Word(word, _) = tree {
        return atom(pattern, node, word)
            .ok_or_else(|| tree.wrong(format!("`{word}` is not allowed here")));
    }
    match call(tree) {
        Some(("AND", [left, right])) => {
            fill(pattern, node, left)?;
            fill(pattern, node, right)
        }
        Some(("JOIN", [relation, set])) => {
            let (relation, forward) = step(relation)?;
            let other = add(pattern, node, relation, forward);
            fill(pattern, other, set)
        }
        Some((name @ ("ARGMAX" | "ARGMIN"), [set, path])) => {
            fill(pattern, node, set)?;
            let extreme = if name == "ARGMAX" {
                Extreme::Max
            } else {
                Extreme::Min
            };
            let value = walk(pattern, node, path)?;
            pattern.nodes[value] = FormNode::Value(None, NodeFunction::Extreme(extreme));
            Ok(())
        }
        Some((name @ ("lt" | "le" | "gt" | "ge"), [path, Tree::Word(value, _)])) => {
            let op = match name {
                "lt" => Op::Lt,
                "le" => Op::Le,
                "gt" => Op::Gt,
                _ => Op::Ge,
            };
            let other = walk(pattern, node, path)?;
            pattern.nodes[other] =
                FormNode::Value(Some(literal_of(value)), NodeFunction::Compare(op));
            Ok(())
        }
        Some((name, arguments)) => Err(tree.wrong(format!(
            "`{name}` with {} arguments is not a function",
            arguments.len()
        ))),
        None => Err(tree.wrong("a list must begin with a function")),
    }
}

/// A constant or a class.
fn atom(pattern: &mut LogicalForm, node: usize, word: &str) -> Option<()> {
    let entity = (word.starts_with("m.") || word.starts_with("g.")) && !word.contains("^^");
    let class = word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.contains('.')
        && !word.contains("^^");
    match &mut pattern.nodes[node] {
        FormNode::Any(classes) if entity && classes.is_empty() => {
            pattern.nodes[node] = FormNode::Entity(word.to_owned());
        }
        FormNode::Any(classes) if class && !entity => classes.push(word.to_owned()),
        FormNode::Any(classes) if classes.is_empty() && !entity => {
            pattern.nodes[node] = FormNode::Value(Some(literal_of(word)), NodeFunction::None);
        }
        _ => return None,
    }
    Some(())
}

/// A relation, and whether it points away from its argument.
fn step(tree: &Tree) -> Result<(&str, bool), SexprError> {
    match (tree, call(tree)) {
        (Tree::Word(relation, _), _) => Ok((relation, true)),
        (_, Some(("R", [Tree::Word(relation, _)]))) => Ok((relation, false)),
        _ => Err(tree.wrong("expected a relation or `(R relation)`")),
    }
}

/// The node at the end of a relation or of `(JOIN relation path)`.
fn walk(pattern: &mut LogicalForm, node: usize, path: &Tree) -> Result<usize, SexprError> {
    match call(path) {
        Some(("JOIN", [first, rest])) => {
            let (relation, forward) = step(first)?;
            let middle = add(pattern, node, relation, forward);
            walk(pattern, middle, rest)
        }
        _ => {
            let (relation, forward) = step(path)?;
            Ok(add(pattern, node, relation, forward))
        }
    }
}

/// A new node at the other end of an edge.
fn add(pattern: &mut LogicalForm, node: usize, relation: &str, forward: bool) -> usize {
    let other = pattern.nodes.len();
    pattern.nodes.push(FormNode::Any(Vec::new()));
    let (from, to) = if forward {
        (node, other)
    } else {
        (other, node)
    };
    pattern.edges.push((from, relation.to_owned(), to));
    other
}
