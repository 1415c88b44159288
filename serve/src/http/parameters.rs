//! Parameters of an address or a form. Unknown and repeated parameters are errors; one without a
//! value counts as absent, since forms send every field.

use crate::fault::Fault;

/// Decoded parameters.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads `a=b&c=d`; `known` are the names that the address takes.
    ///
    /// # Errors
    /// [`Fault`] names a parameter that is unknown or given twice.
    pub(super) fn of(text: Option<&str>, known: &[&str]) -> Result<Self, Fault> {
        Self::read(text, |name| {
            if known.contains(&name) {
                return Ok(true);
            }
            let known = known.join(", ");
            let message = format!("there is no parameter `{name}` here; there are {known}");
            Err(Fault::bad("parameter", message))
        })
    }

    /// As [`of`](Self::of), but parameters that are not known are ignored.
    ///
    /// # Errors
    /// [`Fault`] names a parameter that is given twice.
    pub(super) fn some_of(text: Option<&str>, known: &[&str]) -> Result<Self, Fault> {
        Self::read(text, |name| Ok(known.contains(&name)))
    }

    fn read(
        text: Option<&str>,
        is_known: impl Fn(&str) -> Result<bool, Fault>,
    ) -> Result<Self, Fault> {
        let mut all = Vec::new();
        for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
            if !is_known(&name)? {
                continue;
            }
            if all.iter().any(|(other, _)| *other == name) {
                return Err(Fault::bad("parameter", format!("`{name}` is given twice")));
            }
            all.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self(all))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        let value = found.map(|(_, value)| value.as_str());
        value.filter(|value| !value.trim().is_empty())
    }

    /// A parameter that must be there.
    pub(super) fn need(&self, name: &str) -> Result<&str, Fault> {
        self.get(name)
            .ok_or_else(|| Fault::bad("parameter", format!("the parameter `{name}` is missing")))
    }

    /// A whole number up to `most`, or `usual` if the parameter is missing.
    pub(super) fn number(&self, name: &str, usual: usize, most: usize) -> Result<usize, Fault> {
        let Some(text) = self.get(name) else {
            return Ok(usual);
        };
        // Some languages write a whole number as `2.0`.
        let text = text.strip_suffix(".0").unwrap_or(text);
        let number = text.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| {
            let message = format!("`{name}` is a whole number up to {most}");
            Fault::bad("parameter", message)
        })
    }
}
