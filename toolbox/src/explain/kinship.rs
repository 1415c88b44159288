//! Relatives that a graph has no relation for, as chains of parents, children and spouses: a
//! grandmother is a parent of a parent. English.

use super::plan::Way;

/// A family relation, followed in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kin {
    Parent = 1,
    Child = 2,
    Spouse = 3,
}

use Kin::{Child, Parent, Spouse};

/// Words for relatives, with the relations that lead to them.
const RELATIVES: &[(&str, &[Kin])] = &[
    (
        "child,children,son,daughter,kid,kiddo,offspring,brood",
        &[Child],
    ),
    ("parent,father,mother,dad,daddy,mum,mom,mummy", &[Parent]),
    ("sibling,brother,sister", &[Parent, Child]),
    (
        "grandparent,grandfather,grandmother,grandma,grandpa,granddad,granny",
        &[Parent, Parent],
    ),
    (
        "grandchild,grandchildren,grandson,granddaughter,grandkid",
        &[Child, Child],
    ),
    ("uncle,aunt,auntie", &[Parent, Parent, Child]),
    ("cousin", &[Parent, Parent, Child, Child]),
    ("great uncle,great aunt", &[Parent, Parent, Parent, Child]),
    ("nephew,niece", &[Parent, Child, Child]),
    (
        "mother in law,father in law,parent in law,parents in law,in law",
        &[Spouse, Parent],
    ),
    ("brother in law,sister in law", &[Spouse, Parent, Child]),
    ("son in law,daughter in law", &[Child, Spouse]),
    (
        "great grandparent,great grandfather,great grandmother",
        &[Parent, Parent, Parent],
    ),
    (
        "great grandchild,great grandchildren,great grandson,great granddaughter",
        &[Child, Child, Child],
    ),
];

/// The relations that lead to a relative.
fn chain(word: &str) -> Option<&'static [Kin]> {
    let is = |name: &str| word == name || word.strip_suffix('s') == Some(name);
    let found = (RELATIVES.iter()).find(|(names, _)| names.split(',').any(is));
    found.map(|(_, chain)| *chain)
}

/// Whether a word names a relative.
pub(super) fn is_relative(word: &str) -> bool {
    chain(word).is_some()
}

/// The family relations that a plan followed last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lineage {
    /// As digits to base four.
    steps: u32,
    /// How many of them count as relations that the question does not say.
    unsaid: usize,
}

impl Lineage {
    /// After one more relation, whose name has these stems.
    pub(super) fn follow(self, stems: &[String], way: Way) -> Self {
        let has = |wanted: &[&str]| stems.iter().any(|stem| wanted.contains(&stem.as_str()));
        let kin = if has(&["parent"]) {
            if way == Way::In { Child } else { Parent }
        } else if has(&["child"]) {
            if way == Way::In { Parent } else { Child }
        } else if has(&["spous", "partn", "marri"]) {
            Spouse
        } else {
            return Self::default();
        };
        Self {
            steps: (self.steps << 2) | kin as u32,
            ..self
        }
    }

    /// Adds the relations that the question does not say to `all`. If the last `relations` (0 if none) lead to a
    /// relative that the question names, it subtracts those counted for the steps before: the name says them too.
    pub(super) fn settle(&mut self, unsaid: usize, relations: usize, all: &mut usize) {
        *all += unsaid;
        self.unsaid += if self.steps > 0 { unsaid } else { 0 };
        if relations > 0 {
            *all -= std::mem::take(&mut self.unsaid);
        }
    }

    /// The number of relations that lead to a relative of this name, if the last ones do.
    pub(super) fn leads_to(self, word: &str) -> Option<usize> {
        let chain = chain(word)?;
        let code = chain.iter().fold(0, |code, kin| (code << 2) | *kin as u32);
        let last = self.steps & ((1 << (2 * chain.len())) - 1);
        (last == code).then_some(chain.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(steps: &[(&str, Way)]) -> Lineage {
        let follow = |lineage: Lineage, (stem, way): &(&str, Way)| {
            lineage.follow(&[(*stem).to_owned()], *way)
        };
        steps.iter().fold(Lineage::default(), follow)
    }

    #[test]
    fn relatives_are_reached_by_their_relations_in_either_direction() {
        let (out, back) = (Way::Out, Way::In);
        for (steps, word, length) in [
            (
                vec![("parent", out), ("parent", out)],
                "grandmother",
                Some(2),
            ),
            (
                vec![("child", back), ("parent", out)],
                "grandparents",
                Some(2),
            ),
            (vec![("child", out), ("child", out)], "grandkids", Some(2)),
            (vec![("parent", out), ("child", out)], "brother", Some(2)),
            (vec![("parent", out), ("parent", back)], "siblings", Some(2)),
            (
                vec![("spous", out), ("parent", out)],
                "mother in law",
                Some(2),
            ),
            (
                vec![("parent", out), ("parent", out), ("child", out)],
                "aunt",
                Some(3),
            ),
            (
                vec![("spous", out), ("parent", out), ("child", out)],
                "sister",
                Some(2),
            ),
            (vec![("parent", out)], "grandmother", None),
            (vec![("parent", out), ("author", out)], "grandmother", None),
            (vec![("parent", out), ("parent", out)], "mother", Some(1)),
            (vec![("child", back)], "kiddo", None),
            (vec![("parent", back)], "kiddos", Some(1)),
            (vec![], "aunt", None),
        ] {
            assert_eq!(lineage(&steps).leads_to(word), length, "{word}: {steps:?}");
        }
    }
}
