//! Resolution of handles to names and back: models pick handles; results and traces contain full
//! names.

use super::error::ToolError;
use super::session::{Session, SetKey};
use super::types::{EntSet, Naming, Relation, Value, sorted};
use crate::call::{Arg, Call, Handle, HandleKind, Param, Tool};
use crate::limits::{LIST_ITEMS, SET_SIZE};
use kg::term::NodeId;

impl Session<'_> {
    /// The call with every handle replaced by the full name it refers to.
    ///
    /// # Errors
    /// Returns [`ToolError::UnknownHandle`] for a handle that refers to nothing.
    pub fn with_names(&self, call: &Call) -> Result<Call, ToolError> {
        let out = call.tool != Tool::GetHeadEntity;
        let mut args: Vec<Arg> = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            let named = self.arg_with_name(arg, args.first().or(call.args.first()), out)?;
            args.push(named);
        }
        Ok(Call {
            target: call.target,
            tool: call.tool,
            args,
        })
    }

    fn arg_with_name(&self, arg: &Arg, set: Option<&Arg>, out: bool) -> Result<Arg, ToolError> {
        Ok(match arg {
            Arg::Handle(handle) => self.handle_name(*handle, set, out)?,
            Arg::Inverse(inner) => Arg::Inverse(Box::new(self.arg_with_name(inner, set, !out)?)),
            Arg::Repeated(repeat, inner) => {
                Arg::Repeated(*repeat, Box::new(self.arg_with_name(inner, set, out)?))
            }
            Arg::List(items) => Arg::List(
                items
                    .iter()
                    .map(|item| self.arg_with_name(item, set, out))
                    .collect::<Result<_, _>>()?,
            ),
            other => other.clone(),
        })
    }

    /// `out`: whether a mention refers to an out-relation of the set.
    fn handle_name(&self, handle: Handle, set: Option<&Arg>, out: bool) -> Result<Arg, ToolError> {
        let index = handle.index as usize;
        let unknown = |right: String| ToolError::UnknownHandle {
            given: handle.to_string(),
            right,
        };
        match handle.kind {
            HandleKind::Entity => match self.linked.entities.get(index) {
                Some(&node) => Ok(Arg::Name(self.kg.name(node))),
                None => Err(unknown(format!(
                    "the question links {} entities",
                    self.linked.entities.len()
                ))),
            },
            HandleKind::Class => match self.classes.get(index) {
                Some(&node) => Ok(Arg::Name(self.kg.name(node))),
                None => Err(unknown(format!(
                    "{} classes are offered",
                    self.classes.len()
                ))),
            },
            HandleKind::Value => match self.linked.values.get(index) {
                Some(value) => Ok(Arg::Literal(value.clone())),
                None => Err(unknown(format!(
                    "the question names {} values",
                    self.linked.values.len()
                ))),
            },
            HandleKind::Relation | HandleKind::Mention => {
                let shown = match set {
                    Some(set) => self.shown.get(&self.set_key(set)?),
                    None => None,
                };
                let Some(shown) = shown else {
                    return Err(unknown(
                        "no relations were shown for this set; call get_relation on it first"
                            .to_owned(),
                    ));
                };
                if handle.kind == HandleKind::Mention {
                    let relations = if out { &shown.out } else { &shown.incoming };
                    let at = self
                        .mentioned(relations, Naming::Mentions)
                        .iter()
                        .position(|&mention| mention == Some(index));
                    let right =
                        "this word of the question stands for no relation shown for this set"
                            .to_owned();
                    return at
                        .map(|at| Arg::Name(self.relation_name(relations[at])))
                        .ok_or_else(|| unknown(right));
                }
                match shown.get(index) {
                    Some((relation, _)) => Ok(Arg::Name(self.relation_name(relation))),
                    None => Err(unknown(format!(
                        "{} relations were shown for this set",
                        shown.out.len() + shown.incoming.len()
                    ))),
                }
            }
        }
    }

    /// The call with a handle for every item that has one: how a gold program is written in the
    /// dialogue layout. Names that were not shown stay names.
    #[must_use]
    pub fn with_handles(&self, call: &Call, naming: Naming) -> Call {
        if !naming.things_by_handle() {
            return call.clone();
        }
        let mut handled = call.clone();
        let out = call.tool != Tool::GetHeadEntity;
        let key = call.args.first().and_then(|set| self.set_key(set).ok());
        for (i, arg) in handled.args.iter_mut().enumerate() {
            let params = call.tool.signature().params;
            let param = params[i.min(params.len() - 1)];
            match (param, &*arg) {
                (param, relation) if param.names_relation() => {
                    let out = out != relation.is_inverse();
                    if let Arg::Name(name) = relation.relation()
                        && let Some(handle) = self.relation_handle(key.as_ref(), name, out, naming)
                    {
                        *arg.relation_mut() = handle;
                    }
                }
                (Param::Class, Arg::Name(name)) => {
                    if let Some(handle) = self.class_handle(name) {
                        *arg = handle;
                    }
                }
                (Param::Value, Arg::Name(name)) if self.judges_class(call) => {
                    if let Some(handle) = self.class_handle(name) {
                        *arg = handle;
                    }
                }
                (Param::Set | Param::Value | Param::Operand | Param::Amount, Arg::Name(name)) => {
                    if let Some(i) = self.kg.by_name(name).and_then(|node| {
                        self.linked
                            .entities
                            .iter()
                            .position(|&entity| entity == node)
                    }) {
                        *arg = Arg::handle(HandleKind::Entity, i);
                    }
                }
                (Param::Value | Param::Operand | Param::Amount, Arg::Literal(literal)) => {
                    if let Some(i) = self.linked.value_index(literal) {
                        *arg = Arg::handle(HandleKind::Value, i);
                    }
                }
                _ => {}
            }
        }
        handled
    }

    fn class_handle(&self, name: &str) -> Option<Arg> {
        let node = self.kg.by_name(name)?;
        self.classes
            .iter()
            .position(|&class| class == node)
            .map(|i| Arg::handle(HandleKind::Class, i))
    }

    /// Whether a call tests class membership: `judge` along a type relation.
    fn judges_class(&self, call: &Call) -> bool {
        let Some(Arg::Name(relation)) = call.args.get(1).filter(|_| call.tool == Tool::Judge)
        else {
            return false;
        };
        self.kg
            .by_name(relation)
            .is_some_and(|node| self.kg.schema().type_relations.contains(&node.relation()))
    }

    fn relation_handle(
        &self,
        key: Option<&SetKey>,
        name: &str,
        out: bool,
        naming: Naming,
    ) -> Option<Arg> {
        let shown = self.shown.get(key?)?;
        let relation = self.relation_by_name(name)?;
        if naming.relations_by_handle() {
            return Some(Arg::handle(
                HandleKind::Relation,
                shown.index(relation, out)?,
            ));
        }
        let relations = if out { &shown.out } else { &shown.incoming };
        let at = relations.iter().position(|&shown| shown == relation)?;
        Some(Arg::handle(
            HandleKind::Mention,
            self.mentioned(relations, naming)[at]?,
        ))
    }

    /// Looks up a relation by its printed name: a derived interval or a predicate.
    pub(super) fn relation_by_name(&self, name: &str) -> Option<Relation> {
        let intervals = &self.kg.schema().intervals;
        let interval = intervals.iter().position(|interval| interval.name == name);
        interval.map(Relation::Interval).or_else(|| {
            let node = self.kg.by_name(name)?;
            Some(Relation::Plain(node.relation()))
        })
    }

    /// The node of an argument.
    pub(super) fn node(&self, arg: &Arg) -> Result<NodeId, ToolError> {
        match arg {
            Arg::Name(name) => self
                .kg
                .by_name(name)
                .ok_or_else(|| ToolError::UnknownEntity {
                    given: name.clone(),
                    near: self
                        .kg
                        .by_label(name)
                        .into_iter()
                        .take(NEAREST)
                        .map(|node| self.kg.name(node))
                        .collect(),
                }),
            Arg::Handle(handle) => self.node(&self.handle_name(*handle, None, true)?),
            other => Err(ToolError::Argument {
                given: other.to_string(),
                right: "an entity is needed".to_owned(),
            }),
        }
    }

    /// The set of an argument.
    pub(crate) fn set(&self, arg: &Arg) -> Result<EntSet, ToolError> {
        match arg {
            Arg::Var(index) => match self.variables.get(*index as usize) {
                Some(Value::Set(set)) => Ok(set.clone()),
                Some(Value::Table(table)) => Err(ToolError::WholeTable {
                    table: *index,
                    last: table.columns().len().saturating_sub(1),
                }),
                Some(_) => Err(ToolError::NotASet(*index)),
                None => Err(ToolError::UnknownVariable {
                    given: *index,
                    live: self.variables.len(),
                }),
            },
            Arg::Column(index, column) => {
                let (table, column) = self.table_column(*index, *column)?;
                let computed = ToolError::Computed {
                    table: *index,
                    column: u32::try_from(column).unwrap_or(u32::MAX),
                };
                Ok(table.set(column).ok_or(computed)?.into())
            }
            Arg::List(items) => {
                if items.len() > LIST_ITEMS {
                    return Err(ToolError::LongList {
                        items: items.len(),
                        limit: LIST_ITEMS,
                    });
                }
                let mut nodes = Vec::new();
                for item in items {
                    nodes.extend_from_slice(&self.set(item)?);
                    if nodes.len() > SET_SIZE {
                        return Err(ToolError::TooLarge { limit: SET_SIZE });
                    }
                }
                Ok(sorted(nodes))
            }
            other => Ok([self.node(other)?].into()),
        }
    }
}

/// Number of nearest candidates in an error message.
pub(super) const NEAREST: usize = 5;
