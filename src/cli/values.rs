//! Parsers of option values: names from a table, shares, sizes and named paths.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::{
    PossibleValue, PossibleValuesParser, RangedI64ValueParser, TypedValueParser, ValueParser,
};
use toolbox::call::ToolTable;

/// Where topic entities come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EntitySource {
    /// The dataset.
    Gold,
    /// Linking: labels found in the question.
    Linked,
}

/// The accepted names of an option's value, each with its help text and the value it stands for.
pub(super) type Names<T> = &'static [(&'static str, &'static str, T)];

/// A table of names, with `"NAME": "HELP" => VALUE;` for each name.
macro_rules! names {
    ($($(#[$cfg:meta])* $name:literal: $help:literal => $value:expr;)*) => {
        &[$($(#[$cfg])* ($name, $help, $value)),*]
    };
}
pub(super) use names;

/// A parser of the names in a table.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(names: Names<T>) -> ValueParser {
    let shown = names
        .iter()
        .map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    ValueParser::new(PossibleValuesParser::new(shown).try_map(|given| {
        let known = names.iter().find(|(name, _, _)| *name == given);
        known.map(|(_, _, value)| *value).ok_or("unknown name")
    }))
}

/// The tool tables.
pub(super) const TOOLS: Names<ToolTable> = names! {
    "paper": "The paper's thirteen" => ToolTable::Paper;
    "extended": "The thirteen, and tools for differences, groups, sums and tables"
        => ToolTable::Extended;
};

/// A whole number in a range.
pub(super) fn number<T>(range: impl RangeBounds<i64>) -> RangedI64ValueParser<T>
where
    T: TryFrom<i64, Error: Error + Send + Sync> + Clone + Send + Sync + 'static,
{
    RangedI64ValueParser::new().range(range)
}

/// A share: a number from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "a share is a number from 0 to 1".to_owned())
}

/// A sampling temperature: a number from 0 to 2.
pub(super) fn temperature(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|temperature| (0.0..=2.0).contains(temperature))
        .ok_or_else(|| "a temperature is a number from 0 to 2".to_owned())
}

/// A number of bytes: a whole number, optionally followed by KiB, MiB or GiB.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (number, shift) = units
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))
        .unwrap_or((text, 0));
    let bytes = number
        .trim()
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| {
        "a size is a whole number of bytes, KiB, MiB or GiB, such as 512MiB".to_owned()
    })
}

/// A path with a name before `=`, or named as its last part.
pub(super) fn named_path(text: &str) -> Result<(String, PathBuf), String> {
    if let Some((name, path)) = text.split_once('=') {
        return Ok((name.to_owned(), PathBuf::from(path)));
    }
    let name = Path::new(text).file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| "write NAME=PATH: the path has no name of its own".to_owned())?;
    Ok((name.to_owned(), PathBuf::from(text)))
}

/// An address to listen on. `localhost` is this machine only.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:");
    let local = port.and_then(|port| Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into()));
    local.or_else(|| text.parse().ok()).ok_or_else(|| {
        "an address is written in numbers and has a port, such as 127.0.0.1:8765".to_owned()
    })
}

/// The origin of a web page as browsers send it: scheme, host and port, without a path.
pub(super) fn origin(text: &str) -> Result<String, String> {
    let origin = text.trim_end_matches('/').to_ascii_lowercase();
    let host = origin.strip_prefix("https://");
    let host = host.or_else(|| origin.strip_prefix("http://"));
    host.filter(|host| !host.is_empty() && !host.contains(['/', '*', '@', ' ']))
        .ok_or("an origin has a scheme, a host and no path, such as https://wiki.example.org")?;
    Ok(origin)
}

/// A graph format by its name.
pub(super) fn graph_format(name: &str) -> Result<kg::GraphFormat, String> {
    kg::GraphFormat::named(name).ok_or_else(|| {
        let known: Vec<&str> = kg::GraphFormat::NAMES
            .iter()
            .map(|(name, _)| *name)
            .collect();
        format!("the formats are {}", known.join(", "))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_in_numbers_or_as_localhost() {
        let parsed = |text| address(text).map(|address| address.to_string()).ok();
        assert_eq!(parsed("localhost:80").unwrap(), "127.0.0.1:80");
        assert_eq!(parsed("[::1]:8765").unwrap(), "[::1]:8765");
        for wrong in ["localhost", "127.0.0.1", "example.org:80", "localhost:x"] {
            assert!(address(wrong).unwrap_err().contains("127.0.0.1:8765"));
        }
    }

    #[test]
    fn an_origin_has_a_scheme_and_a_host_only() {
        let wiki = "https://wiki.example.org:8443";
        assert_eq!(origin("HTTPS://Wiki.example.org:8443/").unwrap(), wiki);
        for wrong in ["*", "null", "wiki.example.org", "https://", "https://a/b"] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }
}
