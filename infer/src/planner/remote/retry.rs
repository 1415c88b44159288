//! How long to wait before a request is sent again.

use std::time::{Duration, SystemTime};

use common::rng::Rng;

/// Pause before the first retry; doubled for each further one.
const FIRST: Duration = Duration::from_millis(250);
/// Longest pause, unless the server asks for a longer one.
const LONGEST: Duration = Duration::from_secs(8);
/// Largest addition to the pause that a server asks for.
const SPREAD: Duration = Duration::from_secs(1);

/// The pauses between the tries of one request. They are spread, so that requests that failed
/// together do not return together. Seed and request determine them.
pub(super) struct Pauses {
    rng: Rng,
    next: Duration,
}

impl Pauses {
    pub(super) fn new(seed: u64, body: &str) -> Self {
        // Requests that differ wait differently.
        Self {
            rng: Rng::new(common::hash::quick(body.bytes()) ^ seed),
            next: FIRST,
        }
    }

    /// The next pause; `wish` is what the server asks for.
    pub(super) fn next(&mut self, wish: Option<Duration>) -> Duration {
        let share = self.rng.uniform_f64();
        if let Some(wish) = wish {
            return wish.saturating_add(SPREAD.min(wish / 4).mul_f64(share));
        }
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        pause.mul_f64(0.5 + share / 2.0)
    }
}

/// The pause that a header `Retry-After` asks for: seconds or a date. `None` if it is neither.
pub(super) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(header).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(seed: u64, body: &str, wish: Option<Duration>) -> Vec<Duration> {
        let mut pauses = Pauses::new(seed, body);
        (0..12).map(|_| pauses.next(wish)).collect()
    }

    #[test]
    fn pauses_grow_and_depend_on_seed_and_request_only() {
        let first = pauses(1, "a", None);
        assert_eq!(first, pauses(1, "a", None));
        assert_ne!(first, pauses(2, "a", None));
        assert_ne!(first, pauses(1, "b", None));
        let mut full = FIRST;
        for pause in first {
            assert!(pause >= full / 2 && pause <= full, "{pause:?} of {full:?}");
            full = (full * 2).min(LONGEST);
        }
        // A minute of refusals costs few requests.
        let mut left = Duration::from_secs(60);
        let mut pauses = Pauses::new(1, "a");
        let mut requests = 0;
        while let Some(rest) = left.checked_sub(pauses.next(None)) {
            left = rest;
            requests += 1;
        }
        assert!((8..=20).contains(&requests), "{requests}");
    }

    #[test]
    fn the_wish_of_a_server_is_the_least() {
        let wish = Duration::from_secs(20);
        for pause in pauses(1, "a", Some(wish)) {
            assert!(pause >= wish && pause <= wish + SPREAD, "{pause:?}");
        }
        let now = httpdate::parse_http_date("Fri, 06 Feb 2026 10:00:00 GMT").ok();
        let after = |header: &str| now.and_then(|now| retry_after(header, now));
        assert_eq!(after(" 30 "), Some(Duration::from_secs(30)));
        assert_eq!(after("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(
            after("Fri, 06 Feb 2026 10:01:00 GMT"),
            Some(Duration::from_secs(60))
        );
        assert_eq!(after("Fri, 06 Feb 2026 09:00:00 GMT"), Some(Duration::ZERO));
        for wrong in ["", "soon", "-1", "NaN", "1e300"] {
            assert_eq!(after(wrong), None, "{wrong}");
        }
    }
}
