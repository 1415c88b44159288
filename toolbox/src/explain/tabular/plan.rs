//! Plans that end in a table, and their programs (rules D).

use kg::term::Literal;
use kg::value::{Extreme, Op};

use super::super::plan::{Hop, Plan, PlanStep, Way, Writer};
use crate::call::{Aggregate, Arg, Call, Field, Tool};
use crate::exec::Session;

/// A column of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// The values of the path with this index.
    Path(usize),
    /// What is computed of them for each group.
    Computed(Aggregate, usize),
    /// The number of rows of each group.
    Count,
}

/// Which groups are kept: those that have so many rows, or the extreme of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// So many.
    Number(Op, u64),
    /// More or fewer than any other, or a higher or lower value of what is computed.
    Extreme(Extreme, Shown),
}

impl Kept {
    /// The column by which groups are kept.
    fn of(self) -> Shown {
        match self {
            Self::Number(..) => Shown::Count,
            Self::Extreme(_, shown) => shown,
        }
    }
}

/// A plan that ends in a table.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct TablePlan {
    /// The set that the rows are made of.
    pub(super) base: Plan,
    /// The plan of the things whose others are asked for, if the set is left out.
    pub(super) without: Option<Plan>,
    /// The paths whose values the rows have; an empty path is the member itself.
    pub(super) paths: Vec<Vec<Hop>>,
    /// The paths that rows are grouped by; `None` if they are not grouped.
    pub(super) keys: Option<Vec<usize>>,
    /// The columns of the answer.
    pub(super) shown: Vec<Shown>,
    /// The groups that are kept.
    pub(super) kept: Option<Kept>,
    /// The path whose value is compared with its mean over all members.
    pub(super) mean: Option<(usize, Op)>,
    /// The column by which rows are ordered, and whether the last comes first.
    pub(super) order: Option<(Shown, bool)>,
    /// How many rows are kept.
    pub(super) first: Option<u64>,
    /// Whether each member counts once in a group, in however many rows it is.
    pub(super) distinct: bool,
    /// Whether the number of members is the answer; where rows are grouped, that of the groups.
    pub(super) count: bool,
}

impl TablePlan {
    /// What is computed of the values that a relation leads to from the members of a plan.
    pub(super) fn of_one(base: Plan, hop: Hop, aggregate: Aggregate) -> Self {
        Self {
            keys: Some(Vec::new()),
            shown: vec![Shown::Computed(aggregate, 0)],
            ..Self::of_columns(base, &[hop])
        }
    }

    /// The members of a plan.
    pub(super) fn of_set(base: Plan) -> Self {
        Self {
            paths: vec![Vec::new()],
            shown: vec![Shown::Path(0)],
            ..Self::of_columns(base, &[])
        }
    }

    /// What single relations lead to from the members of a plan, as columns.
    pub(in super::super) fn of_columns(base: Plan, hops: &[Hop]) -> Self {
        Self {
            base,
            without: None,
            paths: hops.iter().map(|&hop| vec![hop]).collect(),
            keys: None,
            shown: (0..hops.len()).map(Shown::Path).collect(),
            kept: None,
            mean: None,
            order: None,
            first: None,
            distinct: false,
            count: false,
        }
    }

    /// The calls of the plan, with full names.
    pub(in super::super) fn calls(&self, session: &Session<'_>) -> Vec<Call> {
        let mut program = Program {
            writer: Writer::new(session),
            plan: self,
            columns: Vec::new(),
        };
        let answer = program.answer();
        program.writer.end(answer)
    }
}

struct Program<'p, 's, 'g> {
    writer: Writer<'s, 'g>,
    plan: &'p TablePlan,
    /// The paths of the columns of the present table.
    columns: Vec<Vec<Hop>>,
}

impl Program<'_, '_, '_> {
    fn answer(&mut self) -> Arg {
        let set = self.set();
        if self.plan.count && self.plan.keys.is_none() && self.plan.mean.is_none() {
            return self.writer.assign(Tool::Count, vec![set]);
        }
        let plain = self.plan.keys.is_none()
            && self.plan.order.is_none()
            && self.plan.first.is_none()
            && self.plan.mean.is_none();
        if let ([Shown::Path(path)], true) = (self.plan.shown.as_slice(), plain) {
            let hops = self.plan.paths.get(*path).cloned().unwrap_or_default();
            return hops
                .into_iter()
                .fold(set, |set, hop| self.writer.step(set, &PlanStep::Walk(hop)));
        }
        self.columns = vec![Vec::new()];
        let mut table = self.extended(set);
        if let Some((path, op)) = self.plan.mean {
            table = self.above_mean(&table, path, op);
            if self.plan.count {
                let members = self.column(&table, &[]);
                return self.writer.assign(Tool::Count, vec![members]);
            }
        }
        match &self.plan.keys {
            Some(keys) => self.grouped(table, keys),
            None => self.listed(table),
        }
    }

    /// The set that the rows are made of.
    fn set(&mut self) -> Arg {
        let base = &self.plan.base;
        let Some(all) = &self.plan.without else {
            return self.writer.plan(base);
        };
        // What is left out was found among all of them.
        let among = (all.start == base.start && !all.steps.is_empty())
            .then(|| base.steps.strip_prefix(all.steps.as_slice()))
            .flatten();
        let [all, set] = match among {
            Some(steps) => {
                let all = self.writer.plan(all);
                let left = |set, step| self.writer.step(set, step);
                let set = steps.iter().fold(all.clone(), left);
                [all, set]
            }
            None => {
                let set = self.writer.plan(base);
                [self.writer.plan(all), set]
            }
        };
        self.writer.assign(Tool::Difference, vec![all, set])
    }

    /// The table with a column for each relation of the paths.
    fn extended(&mut self, set: Arg) -> Arg {
        let mut table = set;
        for path in &self.plan.paths {
            for length in 1..=path.len() {
                let (before, here) = (&path[..length - 1], &path[..length]);
                if self.columns.iter().any(|known| known == here) {
                    continue;
                }
                let from = self.column(&table, before);
                let relation = self.writer.relation(path[length - 1].relation);
                let relation = match path[length - 1].way {
                    Way::In => Arg::Inverse(Box::new(relation)),
                    Way::Out | Way::Both => relation,
                };
                table = self.writer.assign(Tool::Extend, vec![from, relation]);
                self.columns.push(here.to_vec());
            }
        }
        table
    }

    /// The index of the column of a path.
    fn index(&self, path: &[Hop]) -> u32 {
        let found = self.columns.iter().position(|known| known == path);
        u32::try_from(found.unwrap_or_default()).unwrap_or(u32::MAX)
    }

    /// The index of the column of the path with this index.
    fn at(&self, path: usize) -> u32 {
        self.plan.paths.get(path).map_or(0, |path| self.index(path))
    }

    /// The column of a path; of a set, the set.
    fn column(&self, table: &Arg, path: &[Hop]) -> Arg {
        match table {
            Arg::Var(variable) if self.columns.len() > 1 => {
                Arg::Column(*variable, self.index(path))
            }
            other => other.clone(),
        }
    }

    /// The rows whose value of a path is above or below its mean.
    fn above_mean(&mut self, table: &Arg, path: usize, op: Op) -> Arg {
        let path = self.plan.paths.get(path).cloned().unwrap_or_default();
        let column = self.index(&path);
        let field = Arg::Field(Field::Of(Aggregate::Average, column));
        let mean = self.writer.assign(Tool::Group, vec![table.clone(), field]);
        let left = self.column(table, &path);
        self.writer
            .assign(Tool::Where, vec![left, Arg::Op(op), mean])
    }

    /// The columns of the answer, in order.
    fn listed(&mut self, mut table: Arg) -> Arg {
        if let Some((Shown::Path(path), last)) = self.plan.order {
            table = self.sorted(table, self.at(path), last);
        }
        table = self.first(table);
        let mut args = vec![table];
        args.extend(self.plan.shown.iter().map(|shown| match shown {
            Shown::Path(path) | Shown::Computed(_, path) => Arg::Field(Field::Key(self.at(*path))),
            Shown::Count => Arg::Field(Field::Key(0)),
        }));
        self.writer.assign(Tool::Columns, args)
    }

    fn sorted(&mut self, table: Arg, column: u32, last: bool) -> Arg {
        let order = if last {
            Field::Descending(column)
        } else {
            Field::Ascending(column)
        };
        self.writer
            .assign(Tool::Sort, vec![table, Arg::Field(order)])
    }

    fn first(&mut self, table: Arg) -> Arg {
        match self.plan.first {
            Some(size) => {
                let size = Arg::Literal(Literal::xsd(size.to_string(), "integer"));
                self.writer.assign(Tool::First, vec![table, size])
            }
            None => table,
        }
    }

    /// One row for each group.
    fn grouped(&mut self, table: Arg, keys: &[usize]) -> Arg {
        // The keys that are not shown, what is shown, and the number that decides what is kept.
        let mut fields: Vec<Shown> = Vec::new();
        let hidden = keys.iter().map(|&key| Shown::Path(key));
        for one in self.plan.shown.iter().copied().chain(hidden) {
            if !fields.contains(&one) {
                fields.push(one);
            }
        }
        let ordered = self.plan.order.map(|(by, _)| by);
        let counted = self.plan.kept.map(Kept::of);
        for more in [ordered, counted].into_iter().flatten() {
            if !fields.contains(&more) {
                fields.push(more);
            }
        }
        let mut args = vec![table];
        args.extend(fields.iter().map(|field| {
            Arg::Field(match field {
                Shown::Path(path) => Field::Key(self.at(*path)),
                Shown::Computed(aggregate, path) => Field::Of(*aggregate, self.at(*path)),
                Shown::Count if self.plan.distinct => Field::Of(Aggregate::Distinct, 0),
                Shown::Count => Field::Count,
            })
        }));
        let mut groups = self.writer.assign(Tool::Group, args);
        let place = |one: Shown| {
            let found = fields.iter().position(|field| *field == one);
            u32::try_from(found.unwrap_or_default()).unwrap_or(u32::MAX)
        };
        if let Some(kept) = self.plan.kept {
            groups = self.kept(groups, place(kept.of()), kept);
        }
        if let Some((by, last)) = self.plan.order {
            groups = self.sorted(groups, place(by), last);
        }
        groups = self.first(groups);
        let shown: Vec<u32> = self.plan.shown.iter().map(|one| place(*one)).collect();
        let unordered = self.plan.order.is_none();
        if let (Arg::Var(variable), [only], true) = (&groups, shown.as_slice(), unordered)
            && matches!(self.plan.shown.as_slice(), [Shown::Path(_)])
        {
            let column = Arg::Column(*variable, *only);
            return match self.plan.count {
                true => self.writer.assign(Tool::Count, vec![column]),
                false => column,
            };
        }
        if shown.len() == fields.len() {
            return groups;
        }
        let mut args = vec![groups];
        args.extend(shown.iter().map(|&column| Arg::Field(Field::Key(column))));
        self.writer.assign(Tool::Columns, args)
    }

    /// The groups that are kept by their number of rows, or by what is computed of them.
    fn kept(&mut self, groups: Arg, column: u32, kept: Kept) -> Arg {
        let number = match &groups {
            Arg::Var(variable) => Arg::Column(*variable, column),
            other => other.clone(),
        };
        let (op, right) = match kept {
            Kept::Number(op, number) => (
                op,
                Arg::Literal(Literal::xsd(number.to_string(), "integer")),
            ),
            Kept::Extreme(extreme, _) => {
                let aggregate = match extreme {
                    Extreme::Max => Aggregate::Max,
                    Extreme::Min => Aggregate::Min,
                };
                let field = Arg::Field(Field::Of(aggregate, column));
                let best = self.writer.assign(Tool::Group, vec![groups, field]);
                (Op::Eq, best)
            }
        };
        self.writer
            .assign(Tool::Where, vec![number, Arg::Op(op), right])
    }
}
