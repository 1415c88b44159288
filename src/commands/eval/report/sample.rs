//! A single answered question as a card, with answer, program and evidence.

use infer::agent::Outcome;

use super::html::escape;
use super::questions::shown;

/// Maximum number of evidence triples shown.
const TRIPLES: usize = 20;

/// The card of a question; `answer` is the answer in one line.
pub(in crate::commands) fn card(
    question: &str,
    entities: &[String],
    answer: &str,
    outcome: &Outcome,
) -> String {
    let list = |lines: &mut dyn Iterator<Item = String>| -> String {
        lines
            .map(|line| format!("<li>{line}</li>"))
            .collect::<String>()
    };
    let program = outcome.answer.program.iter();
    let program = list(&mut program.map(|call| format!("<code>{}</code>", escape(call))));
    let evidence = outcome.answer.evidence.iter().take(TRIPLES);
    let evidence = list(
        &mut evidence.map(|triple| format!("<bdi>{}</bdi>", escape(&triple.text.join(" · ")))),
    );
    let emptied = outcome
        .answer
        .emptied
        .as_ref()
        .map_or_else(String::new, |emptied| {
            format!(
                "<p class=\"n\">emptied at step {}: {}</p>",
                emptied.step,
                escape(&emptied.why)
            )
        });
    let steps: String = outcome.events.iter().map(shown).collect();
    format!(
        "<details class=\"q\" open><summary><bdi>{}</bdi></summary><p class=\"n\">entities: <bdi>{}\
         </bdi></p><div class=\"c\"><div><h4>answer</h4><p><bdi>{}</bdi></p>{emptied}<h4>program\
         </h4><ol>{program}</ol><h4>evidence</h4><ul>{evidence}</ul></div><div><h4>steps</h4><ol>\
         {steps}</ol></div></div></details>",
        escape(question),
        escape(&entities.join(", ")),
        escape(answer),
    )
}
