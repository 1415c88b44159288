//! `exists` and `choose` as graph patterns (rules D).

use kg::spargebra::algebra::GraphPattern;
use kg::spargebra::term::Variable;
use toolbox::call::{Arg, Call, Tool};
use toolbox::exec::Value;

use super::error::Inexpressible;
use super::writer::QueryWriter;
use crate::algebra::{exists, not, union};
use crate::graph::algebra;

impl QueryWriter<'_> {
    /// The rows or members that `exists` looks for.
    pub(super) fn existing(&mut self, call: &Call) -> Result<GraphPattern, Inexpressible> {
        let of = call.args.first();
        let of = of.ok_or_else(|| Inexpressible::Argument(call.to_string()))?;
        Ok(self.rows(of)?.pattern)
    }

    /// The members of `choose`: those of the first set where the test holds, and those of the
    /// second where it does not.
    pub(super) fn chosen(
        &mut self,
        call: &Call,
        out: &Variable,
    ) -> Result<GraphPattern, Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let Some(Arg::Var(index)) = call.args.first() else {
            return Err(invalid());
        };
        let (test, value) = self.call(*index)?;
        let test = match (test.tool, value) {
            (Tool::Exists, _) => self.existing(&test)?,
            (Tool::Judge, Value::Bool(truth)) => {
                let judged = self.fresh();
                self.judged(&test, truth, &judged)?
            }
            _ => return Err(invalid()),
        };
        let test = exists(test);
        let first = self.argument(call, 1, out)?;
        let second = self.argument(call, 2, out)?;
        Ok(union([
            algebra::filter(first, test.clone()),
            algebra::filter(second, not(test)),
        ]))
    }
}
