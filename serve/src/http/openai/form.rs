//! What a request of OpenAI's interface says about the form of the answer. A field that would change
//! the answer is obeyed or refused. Fields that only change how a model samples (`temperature`,
//! `seed`), hints (`reasoning_effort`) and notes of the client (`user`, `metadata`, `store`) are
//! accepted, because an answer of the graph does not depend on them.

use serde_json::Value;

use crate::fault::Fault;

/// Most texts at which an answer may stop.
const STOPS: usize = 4;

/// A field, whether a value of it can be obeyed, and what is said if not.
type Rule = (&'static str, fn(&Value) -> bool, &'static str);

const ONE: &str = "it must be 1, because a question has one answer";
const NO_TOOLS: &str =
    "it must be `auto` or `none`, because the agent never calls tools of the client";
const NO_CHANCES: &str = "an answer of the graph has no log probabilities";
const TEXT: &str = "the answer is a text";
const TOKENS: &str = "it must be a positive whole number, or -1 for no limit";
const TRUTH: &str = "it must be true or false";

const RULES: [Rule; 21] = [
    ("n", |value| *value == 1, ONE),
    ("best_of", |value| *value == 1, ONE),
    ("tools", is_list, "it must be a list of tools"),
    ("functions", is_list, "it must be a list of functions"),
    ("tool_choice", needs_no_call, NO_TOOLS),
    ("function_call", needs_no_call, NO_TOOLS),
    ("parallel_tool_calls", Value::is_boolean, TRUTH),
    (
        "response_format",
        |value| value["type"] == "text",
        "the answer is Markdown, so its type is `text`; the field `kgagent` of the response has the answer as JSON",
    ),
    ("logprobs", |value| *value == false, NO_CHANCES),
    ("top_logprobs", |value| *value == 0, NO_CHANCES),
    (
        "logit_bias",
        |value| value.as_object().is_some_and(serde_json::Map::is_empty),
        "the graph decides which names an answer has, so no token can be preferred",
    ),
    ("modalities", only_text, TEXT),
    ("audio", |_| false, TEXT),
    (
        "web_search_options",
        |_| false,
        "the graph is searched, never the web",
    ),
    (
        "suffix",
        |value| value == "",
        "nothing comes after an answer",
    ),
    (
        "echo",
        |value| *value == false,
        "the question is not repeated before the answer",
    ),
    ("stream", Value::is_boolean, TRUTH),
    (
        "stream_options",
        is_stream_options,
        "it must be an object, with `include_usage` true or false",
    ),
    (
        "stop",
        is_stop,
        "it must be a text, or a list of up to four texts",
    ),
    ("max_tokens", is_limit, TOKENS),
    ("max_completion_tokens", is_limit, TOKENS),
];

fn is_list(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(Value::is_object))
}

/// Whether a choice of tools lets the agent answer without a call.
fn needs_no_call(value: &Value) -> bool {
    let allowed = &value["allowed_tools"]["mode"];
    [value, allowed]
        .into_iter()
        .any(|choice| choice == "auto" || choice == "none")
}

fn only_text(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(|item| item == "text"))
}

fn is_stream_options(value: &Value) -> bool {
    let fields = value.as_object();
    fields.is_some_and(|fields| {
        fields
            .get("include_usage")
            .is_none_or(|usage| usage.is_boolean() || usage.is_null())
    })
}

fn is_stop(value: &Value) -> bool {
    let items = value.as_array();
    value.is_string()
        || items.is_some_and(|items| items.len() <= STOPS && items.iter().all(Value::is_string))
}

fn is_limit(value: &Value) -> bool {
    value.as_i64().is_some_and(|limit| limit == -1 || limit > 0)
}

/// How the answer is sent.
#[derive(Debug)]
pub(super) struct AnswerForm {
    pub(super) stream: bool,
    /// Whether a stream ends with the numbers of tokens.
    pub(super) usage: bool,
    stop: Vec<String>,
    /// Most words and marks of the answer.
    tokens: Option<usize>,
}

impl AnswerForm {
    /// Reads the fields of a request.
    ///
    /// # Errors
    /// [`Fault`] names a field that cannot be obeyed, and says what it may be.
    pub(super) fn of(request: &Value) -> Result<Self, Fault> {
        for (name, can_be_obeyed, why) in RULES {
            if request.get(name).is_some_and(|value| !can_be_obeyed(value)) {
                let message = format!("`{name}` has an unsupported value: {why}");
                return Err(Fault::bad("unsupported_value", message));
            }
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let stop: Vec<String> = match &request["stop"] {
            Value::Array(texts) => texts.iter().filter_map(text).collect(),
            one => text(one).into_iter().collect(),
        };
        // -1, for no limit, is no u64.
        let limits = ["max_tokens", "max_completion_tokens"].map(|name| request[name].as_u64());
        let limits = limits
            .into_iter()
            .flatten()
            .filter_map(|limit| limit.try_into().ok());
        Ok(Self {
            stream: request["stream"] == true,
            usage: request["stream_options"]["include_usage"] == true,
            stop: stop.into_iter().filter(|text| !text.is_empty()).collect(),
            tokens: limits.min(),
        })
    }

    /// The part of an answer that is sent, and the reason for its end.
    pub(super) fn cut<'a>(&self, answer: &'a str) -> (&'a str, &'static str) {
        let stop = self.stop.iter().filter_map(|stop| answer.find(stop)).min();
        let answer = stop.map_or(answer, |at| &answer[..at]);
        let end = self.tokens.and_then(|most| starts(answer).nth(most));
        end.map_or((answer, "stop"), |at| (answer[..at].trim_end(), "length"))
    }
}

/// Where the words and marks of a text begin. Answers are written without a tokenizer, so these count
/// as tokens.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    let mut in_word = false;
    text.char_indices().filter_map(move |(at, c)| {
        let goes_on = in_word;
        in_word = c.is_alphanumeric();
        let begins = !(c.is_whitespace() || goes_on && in_word);
        begins.then_some(at)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    const ANSWER: &str = "**Lima**\n\nEvidence:\n\n- Peru · capital · Lima";

    fn cut(request: &Value) -> (&'static str, &'static str) {
        AnswerForm::of(request).unwrap().cut(ANSWER)
    }

    #[test]
    fn an_answer_ends_where_the_client_wants() {
        let whole = (ANSWER, "stop");
        for (request, expected) in [
            (json!({}), whole),
            (json!({ "stop": "\n\n" }), ("**Lima**", "stop")),
            (
                json!({ "stop": ["Peru", "\n- "] }),
                ("**Lima**\n\nEvidence:\n", "stop"),
            ),
            (json!({ "stop": ["", "nowhere"] }), whole),
            (json!({ "stop": [] }), whole),
            (json!({ "max_tokens": 5 }), ("**Lima**", "length")),
            (
                json!({ "max_completion_tokens": 6, "max_tokens": 500 }),
                ("**Lima**\n\nEvidence", "length"),
            ),
            (json!({ "max_tokens": 1 }), ("*", "length")),
            (json!({ "max_tokens": 13 }), whole),
            (json!({ "max_tokens": -1 }), whole),
            (
                json!({ "max_tokens": 100, "stop": "\n" }),
                ("**Lima**", "stop"),
            ),
        ] {
            assert_eq!(cut(&request), expected, "{request}");
        }
    }

    #[test]
    fn what_cannot_be_obeyed_is_refused_and_what_changes_nothing_is_not() {
        for refused in [
            json!({ "n": 2 }),
            json!({ "n": 0 }),
            json!({ "best_of": 3 }),
            json!({ "tools": "all" }),
            json!({ "tool_choice": "required" }),
            json!({ "tool_choice": { "type": "function", "function": { "name": "f" } } }),
            json!({ "tool_choice": { "type": "allowed_tools", "allowed_tools": { "mode": "required" } } }),
            json!({ "function_call": { "name": "f" } }),
            json!({ "parallel_tool_calls": "no" }),
            json!({ "response_format": { "type": "json_object" } }),
            json!({ "response_format": { "type": "json_schema", "json_schema": {} } }),
            json!({ "logprobs": true }),
            json!({ "logprobs": 0 }),
            json!({ "top_logprobs": 3 }),
            json!({ "logit_bias": { "50256": -100 } }),
            json!({ "modalities": ["text", "audio"] }),
            json!({ "audio": { "voice": "alloy" } }),
            json!({ "web_search_options": {} }),
            json!({ "suffix": "end" }),
            json!({ "echo": true }),
            json!({ "stream": "yes" }),
            json!({ "stream_options": true }),
            json!({ "stream_options": { "include_usage": "yes" } }),
            json!({ "stop": 7 }),
            json!({ "stop": ["a", "b", "c", "d", "e"] }),
            json!({ "max_tokens": 0 }),
            json!({ "max_completion_tokens": "9" }),
        ] {
            let fault = AnswerForm::of(&refused).unwrap_err();
            let name = refused.as_object().unwrap().keys().next().unwrap();
            assert!(fault.message.contains(name), "{refused}: {fault:?}");
            assert_eq!(fault.status, 400);
        }
        for accepted in [
            json!({ "n": 1, "best_of": 1, "tools": [], "functions": [], "tool_choice": "none" }),
            json!({ "tools": [{ "type": "function" }], "tool_choice": "auto", "parallel_tool_calls": true }),
            json!({ "tool_choice": { "type": "allowed_tools", "allowed_tools": { "mode": "auto" } } }),
            json!({ "response_format": { "type": "text" }, "logprobs": false, "top_logprobs": 0 }),
            json!({ "logit_bias": {}, "modalities": ["text"], "suffix": "", "echo": false }),
            json!({ "temperature": 0.5, "top_p": 1, "seed": 7, "frequency_penalty": 0.1 }),
            json!({ "user": "u", "metadata": {}, "store": true, "reasoning_effort": "high" }),
            json!({ "prediction": {}, "verbosity": "low", "service_tier": "auto", "keep_alive": 5 }),
        ] {
            assert!(AnswerForm::of(&accepted).is_ok(), "{accepted}");
        }
    }
}
