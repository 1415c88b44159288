//! llama.cpp's rules for splitting text into words, and its kinds of tokens.

// Kinds of tokens, as numbers in `tokenizer.ggml.token_type`.
pub(super) const NORMAL: i32 = 1;
pub(super) const UNKNOWN: i32 = 2;
pub(super) const CONTROL: i32 = 3;
pub(super) const USER: i32 = 4;
pub(super) const UNUSED: i32 = 5;
pub(super) const BYTE: i32 = 6;

/// How text is split into words before merging.
pub(super) struct SplitRule {
    /// llama.cpp's names of the rule.
    pub(super) names: &'static [&'static str],
    /// Regular expressions, applied in order.
    pub(super) split: &'static [&'static str],
    /// Whether a word in the vocabulary is one token regardless of the merges.
    pub(super) whole: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// The supported rules.
pub(super) const RULES: [SplitRule; 5] = [
    SplitRule {
        names: &[
            "gpt-2",
            "phi-2",
            "jina-es",
            "jina-de",
            "roberta-bpe",
            "mpt",
            "olmo",
            "jais",
        ],
        split: &[GPT2],
        whole: false,
    },
    SplitRule {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"],
        split: &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        whole: true,
    },
    SplitRule {
        names: &["qwen2", "stablelm2", "deepseek-r1-qwen", "megrez"],
        split: &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        whole: false,
    },
    SplitRule {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell"],
        split: &[r"\p{N}", GPT2],
        whole: false,
    },
    SplitRule {
        names: &["default"],
        split: &[
            r"[\p{P}\$\+<=>\^~\|]+",
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
            r"\p{N}+",
            r"[0-9][0-9][0-9]",
        ],
        whole: false,
    },
];
