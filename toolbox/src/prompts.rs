//! Prompts for models that were not trained here. Each is a readable text file in
//! `toolbox/prompts`, with `{slots}` for what changes from question to question. Results name the
//! hash of the prompts that they were made with.

use sha2::{Digest, Sha256};

use common::hex::hex;
use common::transcript::{Part, Role, Turn};

/// A prompt and the file that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptFile {
    /// The file below `toolbox/prompts`, without its ending.
    pub name: &'static str,
    whole: &'static str,
}

macro_rules! prompt_files {
    ($($(#[$doc:meta])* $constant:ident = $name:literal;)*) => {
        $($(#[$doc])* pub const $constant: PromptFile = PromptFile {
            name: $name,
            whole: include_str!(concat!("../prompts/", $name, ".txt")),
        };)*

        /// Every prompt.
        pub const ALL: &[PromptFile] = &[$($constant),*];
    };
}

prompt_files! {
    /// ODA as published: the choice of an action (rules B.2).
    ODA_ACTION = "oda/action";
    /// ODA as published: the choice of triples (rules B.3).
    ODA_REFLECTION = "oda/reflection";
    /// ODA as published: facts in place of triples, an ablation (rules B.3).
    ODA_FACTS = "oda/facts";
    /// ODA as published: the answer (rules B.2).
    ODA_ANSWER = "oda/answer";
    /// Triad as published: triple extraction (rules C.1).
    TRIAD_TRIPLES = "triad/triples";
    /// Triad as published: the kind of answer (rules C.2).
    TRIAD_TYPE = "triad/type";
    /// Triad as published: the meanings of a mention (rules C.3).
    TRIAD_ENTITY = "triad/entity";
    /// Triad as published: the relations between two things (rules C.4).
    TRIAD_RELATION = "triad/relation";
    /// Triad as published: the query (rules C.5).
    TRIAD_QUERY = "triad/query";
    /// Triad as published: the choice between queries (rules C.5).
    TRIAD_SELECTION = "triad/selection";
    /// Triad as published: the advisor on a yes/no question (rules C.6).
    TRIAD_YES_OR_NO = "triad/yes-or-no";
    /// Triad as published: the advisor where the graph has nothing (rules C.6).
    TRIAD_FACT = "triad/fact";
    /// Triad as published: worked examples of the generalist's three sub-tasks.
    TRIAD_EXAMPLES = "triad/examples";
    /// Think-on-Graph: ratings of relations.
    TOG_RELATIONS = "tog/relations";
    /// Think-on-Graph: ratings of entities.
    TOG_ENTITIES = "tog/entities";
    /// Think-on-Graph: whether the triples suffice, and the answer if they do.
    TOG_REASONING = "tog/reasoning";
    /// Think-on-Graph: the answer after the last round.
    TOG_ANSWER = "tog/answer";
    /// The model alone: the answer at once.
    DIRECT = "baselines/direct";
    /// The model alone: thoughts first.
    THOUGHTS = "baselines/thoughts";
    /// Worked examples of answers with thoughts.
    THOUGHTS_EXAMPLES = "baselines/examples";
    /// Other wordings of a question, for training data.
    REWORD = "data/reword";
    /// Which program a wording means.
    REWORD_CHECK = "data/reword-check";
    /// What the turns of the tool loop mean.
    SERVED_KG_AGENT = "served/kg-agent";
    /// The same for tool calls.
    SERVED_KG_AGENT_TOOLS = "served/kg-agent-tools";
    /// What the turns of ODA mean.
    SERVED_ODA = "served/oda";
    /// What the turns of Triad mean.
    SERVED_TRIAD = "served/triad";
}

impl PromptFile {
    /// The text without the line break at its end.
    #[must_use]
    pub fn text(&self) -> &'static str {
        self.whole.strip_suffix('\n').unwrap_or(self.whole)
    }

    /// The names of its slots, in order.
    pub fn slots(&self) -> impl Iterator<Item = &'static str> {
        pieces(self.text()).filter_map(|piece| match piece {
            Piece::Slot(name) => Some(name),
            Piece::Text(_) => None,
        })
    }

    /// The first `most` blocks of a file of worked examples, each a list of names and texts.
    #[must_use]
    pub fn examples(&self, most: usize) -> Vec<Vec<(&'static str, &'static str)>> {
        let blocks = self.text().split("\n\n").take(most);
        let line = |line: &'static str| line.split_once(": ");
        blocks
            .map(|block| block.lines().filter_map(line).collect())
            .collect()
    }

    /// The prompt as a turn of the user. A slot without a value stays empty.
    #[must_use]
    pub fn turn(&self, values: &[(&str, Part)]) -> Turn {
        let part = |piece| match piece {
            Piece::Text(text) => Part::ours(text),
            Piece::Slot(name) => values
                .iter()
                .find(|(slot, _)| *slot == name)
                .map_or_else(|| Part::ours(""), |(_, part)| part.clone()),
        };
        let parts = pieces(self.text()).map(part);
        Turn::shown(
            Role::User,
            parts.filter(|part| !part.text.is_empty()).collect(),
        )
    }
}

enum Piece {
    Text(&'static str),
    Slot(&'static str),
}

/// Text and slots of a prompt in turn. A slot is a lower-case word in braces.
fn pieces(text: &'static str) -> impl Iterator<Item = Piece> {
    let mut rest = text;
    let slot = |text: &'static str| {
        text.match_indices('{').find_map(|(at, _)| {
            let inside = &text[at + 1..];
            let end = inside.find('}')?;
            let name = &inside[..end];
            let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
            plain.then_some((at, name))
        })
    };
    let mut next: Option<&'static str> = None;
    std::iter::from_fn(move || {
        if let Some(name) = next.take() {
            return Some(Piece::Slot(name));
        }
        if rest.is_empty() {
            return None;
        }
        let Some((at, name)) = slot(rest) else {
            return Some(Piece::Text(std::mem::take(&mut rest)));
        };
        let before = &rest[..at];
        rest = &rest[at + name.len() + 2..];
        next = Some(name);
        Some(Piece::Text(before))
    })
}

/// One hash for some prompts: of their names and texts.
#[must_use]
pub fn hash_of(prompts: &[PromptFile]) -> String {
    let mut hasher = Sha256::new();
    for prompt in prompts {
        for text in [prompt.name, prompt.whole] {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    hex(&hasher.finalize()[..8])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_filled_and_a_query_in_braces_is_text() {
        let turn = TRIAD_FACT.turn(&[("question", Part::user("Who {is} it?"))]);
        assert!(turn.text().contains("Question: Who {is} it?\n"));
        assert_eq!(turn.parts.len(), 3);
        assert_eq!(TRIAD_EXAMPLES.slots().count(), 0);
        let slots: Vec<_> = ODA_ACTION.slots().collect();
        assert_eq!(
            slots,
            [
                "question",
                "memory",
                "candidates",
                "labels",
                "observation",
                "history"
            ]
        );
    }

    #[test]
    fn the_hash_depends_on_every_prompt() {
        assert_eq!(hash_of(ALL).len(), 16);
        assert_ne!(hash_of(&[ODA_ACTION]), hash_of(&[ODA_ANSWER]));
        assert_ne!(hash_of(&[ODA_ACTION]), hash_of(&[ODA_ACTION, ODA_ANSWER]));
    }

    /// Eight examples of each kind, in the order that `--shots` takes them.
    #[test]
    fn examples_have_all_their_parts() {
        for (file, names) in [
            (TRIAD_EXAMPLES, vec!["question", "triples", "type", "query"]),
            (THOUGHTS_EXAMPLES, vec!["question", "thoughts", "answer"]),
        ] {
            let all = file.examples(usize::MAX);
            assert_eq!(all.len(), 8, "{}", file.name);
            for example in &all {
                let found: Vec<&str> = example.iter().map(|(name, _)| *name).collect();
                assert_eq!(found, names, "{}", file.name);
            }
            assert_eq!(file.examples(3), all[..3]);
        }
    }

    /// A file that no constant names would not count in any hash.
    #[test]
    fn every_file_of_the_folder_is_a_prompt() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
        let mut files = 0;
        for kind in std::fs::read_dir(&folder).unwrap() {
            for file in std::fs::read_dir(kind.unwrap().path()).unwrap() {
                let path = file.unwrap().path().with_extension("");
                let name = path.strip_prefix(&folder).unwrap().to_str().unwrap();
                assert!(ALL.iter().any(|prompt| prompt.name == name), "{name}");
                files += 1;
            }
        }
        assert_eq!(files, ALL.len());
    }
}
