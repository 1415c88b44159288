//! Mixing sources by ratio, by question or by step (rules A.3, A.4: WebQSP, KQA Pro, GrailQA and
//! CWQ as 1:5:5:10, 10,000 samples).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use common::hash;
use serde::{Deserialize, Serialize};

use super::item::Item;
use crate::Error;

/// The unit of a mixture; the paper does not state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Questions.
    #[default]
    Question,
    /// Calls. Questions are taken whole, so the total may fall short by less than one question.
    Step,
}

/// Shares of sources: `webqsp=1,kqapro=5`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mix(BTreeMap<String, u32>);

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut ratios = BTreeMap::new();
        for part in text.split(',') {
            let wrong = || {
                format!(
                    "`{part}` is not an entry of a mixture; write SOURCE=NUMBER, such as webqsp=1,cwq=10"
                )
            };
            let (source, ratio) = part.split_once('=').ok_or_else(wrong)?;
            let ratio = ratio.trim().parse().map_err(|_| wrong())?;
            if ratios.insert(source.trim().to_owned(), ratio).is_some() {
                return Err(format!("the mixture names `{}` twice", source.trim()));
            }
        }
        if ratios.values().all(|ratio| *ratio == 0) {
            return Err("a mixture needs a number above 0".to_owned());
        }
        Ok(Self(ratios))
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(|(source, ratio)| format!("{source}={ratio}"))
            .collect();
        f.write_str(&parts.join(","))
    }
}

/// How many questions or steps of each source to draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MixOptions {
    /// Shares of sources; if absent, every question is equally likely.
    pub mix: Option<Mix>,
    /// Total number of units; if absent, as many as the sources and the mixture allow.
    pub count: Option<usize>,
    /// The unit.
    pub unit: Unit,
}

impl MixOptions {
    /// Checks a mixture against the sources, before the work starts.
    ///
    /// # Errors
    /// [`Error::Mix`] names the source that the mixture or the sources lack.
    pub(crate) fn check<'s>(&self, sources: impl Iterator<Item = &'s str>) -> Result<(), Error> {
        let Some(Mix(ratios)) = &self.mix else {
            return Ok(());
        };
        let sources: std::collections::BTreeSet<&str> = sources.collect();
        if let Some(missing) = sources.iter().find(|source| !ratios.contains_key(**source)) {
            return Err(Error::Mix(format!(
                "the mixture has no number for the source {missing}; {missing}=0 leaves it out"
            )));
        }
        match ratios
            .iter()
            .find(|(source, ratio)| **ratio > 0 && !sources.contains(source.as_str()))
        {
            Some((unknown, _)) => Err(Error::Mix(format!(
                "the mixture names {unknown}, which is not one of the sources ({sources:?})"
            ))),
            None => Ok(()),
        }
    }
}

/// Draws from the questions at the indices in `unique`; the result is in reading order.
pub(super) fn draw(
    items: &[Item<'_>],
    unique: &[usize],
    options: &MixOptions,
    seed: u64,
) -> Result<Vec<usize>, Error> {
    let size = |i: usize| match options.unit {
        Unit::Question => 1,
        Unit::Step => items[i].steps,
    };
    let mut sources: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &i in unique {
        let source = options
            .mix
            .as_ref()
            .map_or("", |_| items[i].question.source.as_str());
        sources.entry(source).or_default().push(i);
    }
    let available: BTreeMap<&str, usize> = sources
        .iter()
        .map(|(source, list)| (*source, list.iter().map(|&i| size(i)).sum()))
        .collect();
    let quotas = match (&options.mix, options.count) {
        (None, None) => return Ok(unique.to_vec()),
        (None, Some(count)) => BTreeMap::from([("", count)]),
        (Some(Mix(ratios)), count) => {
            let most = most(ratios, &available);
            if most == 0 {
                let empty = ratios.iter().find(|(source, ratio)| {
                    **ratio > 0 && !available.contains_key(source.as_str())
                });
                let source = empty.map_or("", |(source, _)| source);
                return Err(Error::Mix(format!(
                    "the source {source} has no questions left to mix"
                )));
            }
            apportion(ratios, count.unwrap_or(most))
        }
    };
    check_quotas(&quotas, &available, options)?;
    let mut drawn = Vec::new();
    for (source, mut list) in sources {
        let mut left = quotas.get(source).copied().unwrap_or(0);
        list.sort_by_cached_key(|&i| (hash::number(seed, "mix", &items[i].question.id), i));
        for i in list {
            if size(i) <= left {
                left -= size(i);
                drawn.push(i);
            }
        }
    }
    drawn.sort_unstable();
    Ok(drawn)
}

/// Rejects quotas that exceed the available questions or steps.
fn check_quotas(
    quotas: &BTreeMap<&str, usize>,
    available: &BTreeMap<&str, usize>,
    options: &MixOptions,
) -> Result<(), Error> {
    for (source, &wanted) in quotas {
        let there = available.get(source).copied().unwrap_or(0);
        if wanted <= there {
            continue;
        }
        let unit = if options.unit == Unit::Step {
            "steps"
        } else {
            "questions"
        };
        let of = if source.is_empty() {
            String::new()
        } else {
            format!(" of {source}")
        };
        let limit = options
            .mix
            .as_ref()
            .map_or(there, |Mix(ratios)| most(ratios, available));
        return Err(Error::Mix(format!(
            "the mixture needs {wanted} {unit}{of} but there are {there}; --count can be at most {limit}"
        )));
    }
    Ok(())
}

/// The largest total for which every source has enough.
fn most(ratios: &BTreeMap<String, u32>, available: &BTreeMap<&str, usize>) -> usize {
    let sum: usize = ratios.values().map(|ratio| *ratio as usize).sum();
    let there = |source: &str| available.get(source).copied().unwrap_or(0);
    let bound = ratios
        .iter()
        .filter(|(_, ratio)| **ratio > 0)
        .map(|(source, ratio)| (there(source) + 1) * sum / *ratio as usize)
        .min();
    let fits = |total: &usize| {
        apportion(ratios, *total)
            .iter()
            .all(|(source, quota)| *quota <= there(source))
    };
    // Rounding changes a share by less than one, so the search from `bound` down is short.
    (0..=bound.unwrap_or(0)).rev().find(fits).unwrap_or(0)
}

/// Whole shares of a total by largest remainder; ties go to the earlier name.
fn apportion(ratios: &BTreeMap<String, u32>, total: usize) -> BTreeMap<&str, usize> {
    let sum: usize = ratios.values().map(|ratio| *ratio as usize).sum();
    let mut shares: BTreeMap<&str, usize> = BTreeMap::new();
    let mut remainders: Vec<(usize, &str)> = Vec::new();
    for (source, ratio) in ratios {
        let product = total * *ratio as usize;
        shares.insert(source, product / sum);
        remainders.push((product % sum, source));
    }
    let missing = total - shares.values().sum::<usize>();
    remainders.sort_by_key(|&(remainder, source)| (std::cmp::Reverse(remainder), source));
    for (_, source) in remainders.into_iter().take(missing) {
        *shares.entry(source).or_default() += 1;
    }
    shares
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Rules A.4: the paper's mixture.
    #[test]
    fn shares_are_those_of_the_paper() {
        let Mix(ratios) = "webqsp=1,kqapro=5,grailqa=5,cwq=10".parse().unwrap();
        let shares = apportion(&ratios, 10_000);
        assert_eq!(
            shares,
            BTreeMap::from([
                ("webqsp", 476),
                ("kqapro", 2381),
                ("grailqa", 2381),
                ("cwq", 4762)
            ])
        );
        for total in 0..200 {
            assert_eq!(apportion(&ratios, total).values().sum::<usize>(), total);
        }
        let there = BTreeMap::from([
            ("webqsp", 100),
            ("kqapro", 100),
            ("grailqa", 38),
            ("cwq", 1000),
        ]);
        let total = most(&ratios, &there);
        assert!(
            apportion(&ratios, total)["grailqa"] == 38
                && apportion(&ratios, total + 1)
                    .iter()
                    .any(|(source, n)| *n > there[source])
        );
    }

    #[test]
    fn mixtures_are_read_strictly() {
        for wrong in ["", "cwq", "cwq=x", "cwq=1,cwq=2", "cwq=0", "cwq=-1"] {
            assert!(wrong.parse::<Mix>().is_err(), "{wrong}");
        }
        let options = MixOptions {
            mix: Some("a=1,b=2".parse().unwrap()),
            ..MixOptions::default()
        };
        assert!(options.check(["a", "b"].into_iter()).is_ok());
        assert!(
            options
                .check(["a"].into_iter())
                .unwrap_err()
                .to_string()
                .contains("names b")
        );
        assert!(
            options
                .check(["a", "b", "c"].into_iter())
                .unwrap_err()
                .to_string()
                .contains("c=0")
        );
    }
}
