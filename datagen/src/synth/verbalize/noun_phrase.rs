//! Noun phrases and modifiers.

#[derive(Clone, Debug, Default)]
pub(super) struct NounPhrase {
    /// Text before the noun: a superlative or a possessor.
    pub(super) before: String,
    /// The noun in the singular, or a name.
    pub(super) noun: String,
    pub(super) after: Vec<Modifier>,
    /// The noun is a name, without article and plural.
    pub(super) proper: bool,
    /// A possessor or superlative determines the noun.
    pub(super) possessed: bool,
    /// Always in the plural.
    pub(super) many: bool,
}

impl NounPhrase {
    pub(super) fn new(noun: String) -> Self {
        Self {
            noun,
            ..Self::default()
        }
    }

    pub(super) fn name(name: String) -> Self {
        Self {
            proper: true,
            ..Self::new(name)
        }
    }

    pub(super) fn with(mut self, modifier: Modifier) -> Self {
        self.after.push(modifier);
        self
    }

    pub(super) fn with_many(self, many: bool) -> Self {
        Self { many, ..self }
    }
}

/// A modifier of a noun, and its forms as a predicate of one thing and of many.
#[derive(Clone, Debug, Default)]
pub(super) struct Modifier {
    pub(super) after: String,
    pub(super) one: String,
    pub(super) many: String,
}

impl Modifier {
    /// A modifier whose predicates use a form of *be*: `directed by X`, `in Asia`.
    pub(super) fn plain(after: String) -> Self {
        for (start, one, many) in [
            ("that are ", "is ", "are "),
            ("who are ", "is ", "are "),
            ("which are ", "is ", "are "),
            ("that were ", "was ", "were "),
            ("who was ", "was ", "were "),
        ] {
            if let Some(rest) = after.strip_prefix(start) {
                let (one, many) = (format!("{one}{rest}"), format!("{many}{rest}"));
                return Self::new(after, one, many);
            }
        }
        for start in ["that ", "who ", "which "] {
            if let Some(rest) = after.strip_prefix(start) {
                let rest = rest.to_owned();
                return Self::new(after, rest.clone(), rest);
            }
        }
        let (one, many) = (format!("is {after}"), format!("are {after}"));
        Self::new(after, one, many)
    }

    pub(super) fn new(after: String, one: String, many: String) -> Self {
        Self { after, one, many }
    }

    /// A modifier with the predicates `has OBJECT` and `have OBJECT`.
    pub(super) fn having(after: String, object: &str) -> Self {
        Self::new(after, format!("has {object}"), format!("have {object}"))
    }

    /// A modifier with the predicates `is OBJECT` and `are OBJECT`.
    pub(super) fn being(after: String, object: &str) -> Self {
        Self::new(after, format!("is {object}"), format!("are {object}"))
    }

    /// The predicate of one thing or of many.
    pub(super) fn predicate(&self, many: bool) -> &str {
        if many { &self.many } else { &self.one }
    }
}

/// A modifier of format strings: the text after the noun, then the predicates. `has "TEXT"` stands
/// for `has TEXT` and `have TEXT`, `is "TEXT"` for `is TEXT` and `are TEXT`. Other predicates are
/// written out for `one` thing and for `many`.
macro_rules! modifier {
    ($after:literal) => {
        Modifier::plain(format!($after))
    };
    ($after:literal, has $object:literal) => {
        Modifier::having(format!($after), &format!($object))
    };
    ($after:literal, is $object:literal) => {
        Modifier::being(format!($after), &format!($object))
    };
    ($after:literal, one $one:literal, many $many:literal) => {
        Modifier::new(format!($after), format!($one), format!($many))
    };
}
pub(super) use modifier;

/// A template with its variables filled.
pub(super) fn fill(template: &str, slots: &[(&str, &str)]) -> String {
    slots
        .iter()
        .fold(template.to_owned(), |text, (slot, value)| {
            text.replace(slot, value)
        })
}
