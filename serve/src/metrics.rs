//! Counters for operators, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Upper ends of the histogram of seconds.
const BUCKETS: [f64; 9] = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// A sum of seconds with its number of measurements.
#[derive(Default)]
pub(crate) struct Seconds {
    micros: AtomicU64,
    count: AtomicU64,
    buckets: [AtomicU64; BUCKETS.len()],
}

impl Seconds {
    pub(crate) fn add(&self, seconds: f64) {
        let micros = (seconds * 1e6).round().max(0.0);
        self.micros.fetch_add(micros as u64, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        for (bucket, end) in self.buckets.iter().zip(BUCKETS) {
            if seconds <= end {
                bucket.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn write(&self, out: &mut String, name: &str, help: &str) {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        for (bucket, end) in self.buckets.iter().zip(BUCKETS) {
            let _ = writeln!(out, "{name}_bucket{{le=\"{end}\"}} {}", read(bucket));
        }
        let (sum, count) = (read(&self.micros) as f64 / 1e6, read(&self.count));
        let _ = writeln!(
            out,
            "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}"
        );
    }
}

/// What the server has done since its start.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) answered: AtomicU64,
    pub(crate) unanswered: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) queries: AtomicU64,
    pub(crate) reload_failures: AtomicU64,
    pub(crate) tokens: AtomicU64,
    pub(crate) prompt_tokens: AtomicU64,
    pub(crate) cached_tokens: AtomicU64,
    pub(crate) queue_seconds: Seconds,
    pub(crate) answer_seconds: Seconds,
    pub(crate) graph_seconds: Seconds,
    pub(crate) model_seconds: Seconds,
    pub(crate) leaving_seconds: Seconds,
}

/// Counts one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Metrics {
    /// The counters as text. `waiting` and `running` are the jobs of the pool now.
    pub(crate) fn text(&self, waiting: usize, running: usize) -> String {
        let mut out = String::new();
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        out.push_str(
            "# HELP kgagent_questions_total Questions by outcome.\n\
             # TYPE kgagent_questions_total counter\n",
        );
        for (outcome, value) in [
            ("answered", &self.answered),
            ("unanswered", &self.unanswered),
            ("failed", &self.failed),
            ("cancelled", &self.cancelled),
        ] {
            let _ = writeln!(
                out,
                "kgagent_questions_total{{outcome=\"{outcome}\"}} {}",
                read(value)
            );
        }
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = writeln!(
                out,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
            );
        };
        one(
            "kgagent_rejected_total",
            "counter",
            "Questions and queries refused because the queue was full.",
            read(&self.rejected),
        );
        one(
            "kgagent_queries_total",
            "counter",
            "SPARQL queries that were run.",
            read(&self.queries),
        );
        one(
            "kgagent_reload_failures_total",
            "counter",
            "Graphs and models that could not be opened again.",
            read(&self.reload_failures),
        );
        one(
            "kgagent_tokens_total",
            "counter",
            "Tokens that models read and wrote.",
            read(&self.tokens),
        );
        one(
            "kgagent_prompt_tokens_total",
            "counter",
            "Tokens of the prompts of turns.",
            read(&self.prompt_tokens),
        );
        one(
            "kgagent_cached_tokens_total",
            "counter",
            "Tokens of prompts that a model still held and did not read again.",
            read(&self.cached_tokens),
        );
        one(
            "kgagent_queue_waiting",
            "gauge",
            "Questions and queries that wait for a thread.",
            waiting as u64,
        );
        one(
            "kgagent_running",
            "gauge",
            "Questions and queries that a thread works on.",
            running as u64,
        );
        for (seconds, what, help) in [
            (
                &self.queue_seconds,
                "queue",
                "that a question waited for a thread",
            ),
            (
                &self.answer_seconds,
                "answer",
                "of an answered question on its thread",
            ),
            (&self.graph_seconds, "graph", "of a question in the graph"),
            (&self.model_seconds, "model", "of a question in the model"),
            (
                &self.leaving_seconds,
                "leaving",
                "from a client's leaving to the end of work that had begun for it",
            ),
        ] {
            let name = format!("kgagent_{what}_seconds");
            seconds.write(&mut out, &name, &format!("Seconds {help}."));
        }
        out
    }
}
