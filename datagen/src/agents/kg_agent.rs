//! The tool loop's examples: a verified program is run call by call and rendered by the code that
//! inference uses, so that an example is byte for byte what a model sees at inference (KG-Agent
//! §4.2.2).

use common::transcript::Turn;
use kg::Kg;
use toolbox::call::parse_call;
use toolbox::exec::Session;
use toolbox::prompt::{Layout, Template};

use crate::example::{AgentExamples, Example, ExampleBuilder};
use crate::question::GoldQuestion;
use crate::verify::{Refused, Verified, VerifyOptions};

/// Makes the tool loop's examples.
pub(super) struct KgAgentExamples<'a> {
    kg: &'a dyn Kg,
    template: &'a Template,
    options: &'a VerifyOptions,
    builder: ExampleBuilder<'a>,
}

impl<'a> KgAgentExamples<'a> {
    pub(super) fn new(kg: &'a dyn Kg, template: &'a Template, options: &'a VerifyOptions) -> Self {
        Self {
            kg,
            template,
            options,
            builder: ExampleBuilder::new(kg, template),
        }
    }
}

impl AgentExamples for KgAgentExamples<'_> {
    /// One example in the dialogue layout, one per call in the paper layout.
    fn examples(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
    ) -> Result<Vec<Example>, Refused> {
        let options = self.template.fit(verified.exec_options(self.options));
        let mut session = Session::new(
            self.kg,
            &question.question,
            verified.linked.clone(),
            &verified.must_offer,
            options,
        )?;
        let calls = &verified.gold.calls;
        let mut examples = Vec::new();
        let mut turns = self.template.opening(&session);
        for (i, call) in calls.iter().enumerate() {
            let written = self.template.call(&session, call).to_string();
            // Run the call as written, because the model has to produce that text.
            let read = parse_call(&written).map_err(|error| {
                Refused::rendering(format!("`{written}` does not read back: {error}"))
            })?;
            let step = session
                .run(&read)
                .map_err(|error| Refused::failed(&written, error))?
                .clone();
            if step.call != *call {
                return Err(Refused::rendering(format!(
                    "`{written}` reads back as `{}` instead of `{call}`",
                    step.call
                )));
            }
            turns.push(Turn::call(written));
            if self.template.layout == Layout::Paper {
                let next = if i + 1 < calls.len() {
                    self.template.opening(&session)
                } else {
                    Vec::new()
                };
                let now = std::mem::replace(&mut turns, next);
                examples.push(self.builder.example(question, verified, &now, i + 1));
            } else {
                turns.extend(self.template.reply(&session, &step)?);
            }
        }
        if self.template.layout == Layout::Dialogue {
            examples.push(
                self.builder
                    .example(question, verified, &turns, calls.len()),
            );
        }
        Ok(examples)
    }
}
