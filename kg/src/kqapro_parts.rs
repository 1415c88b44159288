//! The outermost objects of a `kb.json`, with every entry as unparsed text, because parsed values
//! take twenty times as much memory.

use std::cell::Cell;
use std::fmt;

use rustc_hash::FxHashMap;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Memory of an entry: its name twice, its place, and the table slot.
const ENTRY: usize = 128;

/// The entries of `concepts` or `entities`, in file order.
#[derive(Default)]
pub(crate) struct KbPart<'k> {
    entries: Vec<(String, &'k RawValue)>,
    places: FxHashMap<String, usize>,
}

impl<'k> KbPart<'k> {
    /// The ids and texts of all entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'k str)> {
        self.entries
            .iter()
            .map(|(id, value)| (id.as_str(), value.get()))
    }

    /// The text of an entry.
    pub(crate) fn get(&self, id: &str) -> Option<&'k str> {
        let &at = self.places.get(id)?;
        self.entries.get(at).map(|(_, value)| value.get())
    }
}

/// The two objects of a file; either may be missing.
#[derive(Default)]
pub(crate) struct KbParts<'k> {
    pub concepts: Option<KbPart<'k>>,
    pub entities: Option<KbPart<'k>>,
}

impl<'k> KbParts<'k> {
    /// Divides a file. The entries take at most `memory` bytes.
    ///
    /// # Errors
    /// Invalid JSON, or more entries than fit.
    pub(crate) fn of(kb: &'k str, memory: usize) -> Result<Self, serde_json::Error> {
        let left = Cell::new(memory / ENTRY);
        let mut parts = Self::default();
        let mut json = serde_json::Deserializer::from_str(kb);
        json.deserialize_map(PartsVisitor {
            parts: &mut parts,
            left: &left,
        })?;
        json.end()?;
        Ok(parts)
    }
}

struct PartsVisitor<'a, 'k> {
    parts: &'a mut KbParts<'k>,
    left: &'a Cell<usize>,
}

impl<'k> Visitor<'k> for PartsVisitor<'_, 'k> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of `concepts` and `entities`")
    }

    fn visit_map<A: MapAccess<'k>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let part = match key.as_str() {
                "concepts" => &mut self.parts.concepts,
                "entities" => &mut self.parts.entities,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *part = Some(map.next_value_seed(PartSeed { left: self.left })?);
        }
        Ok(())
    }
}

struct PartSeed<'a> {
    /// Number of entries that still fit the memory.
    left: &'a Cell<usize>,
}

impl<'k> DeserializeSeed<'k> for PartSeed<'_> {
    type Value = KbPart<'k>;

    fn deserialize<D: Deserializer<'k>>(self, deserializer: D) -> Result<KbPart<'k>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'k> Visitor<'k> for PartSeed<'_> {
    type Value = KbPart<'k>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of ids with concepts or entities")
    }

    fn visit_map<A: MapAccess<'k>>(self, mut map: A) -> Result<KbPart<'k>, A::Error> {
        let mut part = KbPart::default();
        while let Some((id, value)) = map.next_entry::<String, &'k RawValue>()? {
            let left = self.left.get().checked_sub(1);
            self.left.set(left.ok_or_else(|| {
                A::Error::custom("more entries than fit the memory; raise --memory")
            })?);
            // Of two entries with one id, the later one counts.
            if let Some(&at) = part.places.get(&id) {
                part.entries[at].1 = value;
            } else {
                part.places.insert(id.clone(), part.entries.len());
                part.entries.push((id, value));
            }
        }
        Ok(part)
    }
}
