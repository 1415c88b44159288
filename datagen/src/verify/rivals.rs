//! Programs that a question could be taken for: those of the gold program that differ in one relation.

use kg::Kg;
use toolbox::call::{Arg, Call};
use toolbox::exec::run_program;

use super::abstain::listed;
use super::linked::{LinkedProgram, Verified, VerifyOptions, walked, walked_name};
use crate::question::GoldQuestion;

/// Relations that are tried per call, best ranked first.
const TRIED: usize = 12;

impl Verified {
    /// At most `most` programs that follow another relation of the list at one step, and have an
    /// answer of their own. The last steps come first, and relations in the order of their list.
    #[must_use]
    pub fn rivals(
        &self,
        kg: &dyn Kg,
        question: &GoldQuestion,
        options: &VerifyOptions,
        most: usize,
    ) -> Vec<Vec<Call>> {
        let calls = &self.gold.calls;
        let Ok(mut session) = self.session(kg, question, options) else {
            return Vec::new();
        };
        if run_program(&mut session, calls).is_err() {
            return Vec::new();
        }
        let mut answers = vec![self.value.clone()];
        let mut rivals = Vec::new();
        for (at, call) in calls.iter().enumerate().rev() {
            let (Some((_, along)), Some(Arg::Name(_))) = (walked_name(call), call.args.get(1))
            else {
                continue;
            };
            let Some(shown) = call.args.first().and_then(|set| listed(&session, set)) else {
                continue;
            };
            let right = walked(kg, call);
            let others = if along { &shown.out } else { &shown.incoming };
            let others = others.iter().filter(|one| Some(**one) != right).take(TRIED);
            for name in others.map(|one| session.relation_name(*one)) {
                let mut changed = calls.clone();
                changed[at].args[1] = Arg::Name(name);
                let other: LinkedProgram = self.program.clone().with_calls(changed);
                match other.run(kg, question, options) {
                    Ok(value) if !value.is_empty() && !answers.contains(&value) => {
                        answers.push(value);
                        rivals.push(other.gold.calls);
                    }
                    _ => {}
                }
                if rivals.len() == most {
                    return rivals;
                }
            }
        }
        rivals
    }
}
