//! Searches, one kind of match after the other.

use rustc_hash::FxHashMap;
use tantivy::collector::{DocSetCollector, TopDocs};
use tantivy::query::{BooleanQuery, FuzzyTermQuery, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED, TantivyDocument, Term};

use super::fields::unpack;
use super::index::LabelIndex;
use super::open::guarded;
use super::text::{
    allowed_edits, edits, normalise, same_digits, similarity, undistinguished, variants,
};
use super::types::{FoundLabels, LabelMatch, MatchKind, NameKind, NodeRole, SearchError};
use crate::term::NodeId;

/// Number of names examined for a partial match, best BM25 score first.
const PARTIAL: usize = 64;
/// Maximum number of fuzzy matches: only very common short names have more.
const FUZZY: usize = 256;
/// Maximum number of nodes with one name whose text is read, those with the most facts. Names of
/// published graphs have fewer, apart from those of pages that nobody asks for.
const SAME: usize = 4_096;
/// Minimum similarity of a partial match that does not contain every word.
const SIMILAR: f32 = 0.5;
/// Factors for a name in a weaker form (article, plural) and for a name that is not a label.
const WEAKER: f32 = 0.9;
const ALIAS: f32 = 0.95;
const SHORT: f32 = 0.8;

/// A matching document whose text is not read yet.
pub(super) struct Hit {
    pub(super) at: DocAddress,
    pub(super) node: NodeId,
    pub(super) degree: u64,
    kind: NameKind,
    /// Factor of the form of the mention that matched.
    form: f32,
}

impl LabelIndex {
    /// Entities that a mention may refer to, at most `k`, best first; if no entity matches,
    /// classes.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn candidates(&self, mention: &str, k: usize) -> FoundLabels {
        for role in [NodeRole::Entity, NodeRole::Class] {
            let found = self.search(mention, k, role)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// Nodes of one role that a text may refer to, at most `k`, best first.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn search(&self, mention: &str, k: usize, role: NodeRole) -> FoundLabels {
        let found = self.named(mention, k, role)?;
        if !found.is_empty() {
            return Ok(found);
        }
        let found = self.fuzzy(mention, k, role)?;
        if !found.is_empty() {
            return Ok(found);
        }
        self.partial(mention, k, role)
    }

    /// Nodes with this name: an exact or normalised match, else a match of a weaker form.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn named(&self, mention: &str, k: usize, role: NodeRole) -> FoundLabels {
        guarded(|| {
            let searcher = self.reader.searcher();
            let normal = normalise(mention);
            let mut hits = Vec::new();
            self.term(&searcher, &normal, 1.0, role, &mut hits)?;
            if hits.is_empty() {
                for form in variants(&normal) {
                    self.term(&searcher, &form, WEAKER, role, &mut hits)?;
                }
            }
            if hits.len() > SAME {
                hits.sort_by_key(|hit| (std::cmp::Reverse(hit.degree), hit.node, hit.at));
                hits.truncate(SAME);
            }
            let score = |hit: &Hit, text: &str| {
                let exact = text == mention.trim() && hit.kind != NameKind::Short;
                let form = if exact { 1.0 } else { WEAKER * hit.form };
                Some((
                    form * of_kind(hit.kind),
                    if exact {
                        MatchKind::Exact
                    } else {
                        MatchKind::Normalised
                    },
                ))
            };
            self.best(&searcher, hits, k, score)
        })
    }

    /// Whether some node of this role has this normalised name; cheaper than [`LabelIndex::named`].
    pub fn knows(&self, normal: &str, role: NodeRole) -> Result<bool, SearchError> {
        guarded(|| {
            let mut hits = Vec::new();
            self.term(&self.reader.searcher(), normal, 1.0, role, &mut hits)?;
            Ok(!hits.is_empty())
        })
    }

    /// Nodes with a name within a few edits.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn fuzzy(&self, mention: &str, k: usize, role: NodeRole) -> FoundLabels {
        guarded(|| {
            let normal = normalise(mention);
            let chars = normal.chars().count();
            let allowed = allowed_edits(chars);
            // tantivy's automaton panics on an index without documents.
            if allowed == 0 || self.is_empty() {
                return Ok(Vec::new());
            }
            let searcher = self.reader.searcher();
            let query = FuzzyTermQuery::new(
                Term::from_field_text(self.fields.name, &normal),
                allowed,
                true,
            );
            let mut hits: Vec<Hit> = Vec::new();
            for at in searcher.search(&query, &DocSetCollector)? {
                hits.extend(self.hit(at, 1.0, role));
            }
            hits.sort_by_key(|hit| (std::cmp::Reverse(hit.degree), hit.node, hit.at));
            hits.truncate(FUZZY);
            let score = |hit: &Hit, text: &str| {
                // The indexed form may be the short form of the name; score the form that is
                // nearer.
                let forms = [Some(text), undistinguished(text)];
                let away = forms
                    .iter()
                    .flatten()
                    .map(|form| normalise(form))
                    .filter(|form| same_digits(form, &normal))
                    .map(|form| edits(&form, &normal))
                    .min()?;
                (away <= usize::from(allowed)).then(|| {
                    (
                        (1.0 - away as f32 / chars.max(1) as f32) * of_kind(hit.kind),
                        MatchKind::Fuzzy,
                    )
                })
            };
            self.best(&searcher, hits, k, score)
        })
    }

    /// Nodes with a name that contains the mention's words or most of its trigrams.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn partial(&self, mention: &str, k: usize, role: NodeRole) -> FoundLabels {
        guarded(|| {
            let normal = normalise(mention);
            let words: Vec<&str> = normal.split(' ').filter(|word| !word.is_empty()).collect();
            if words.is_empty() {
                return Ok(Vec::new());
            }
            let searcher = self.reader.searcher();
            let clause = |field, text: &str| -> (Occur, Box<dyn Query>) {
                (
                    Occur::Should,
                    Box::new(TermQuery::new(
                        Term::from_field_text(field, text),
                        IndexRecordOption::WithFreqs,
                    )),
                )
            };
            let by_word: Vec<_> = words
                .iter()
                .map(|word| clause(self.fields.words, word))
                .collect();
            let chars: Vec<char> = normal.chars().collect();
            let by_gram: Vec<_> = chars
                .windows(3)
                .map(|gram| clause(self.fields.grams, &gram.iter().collect::<String>()))
                .collect();
            let mut hits: Vec<Hit> = Vec::new();
            for clauses in [by_word, by_gram] {
                let found = searcher.search(
                    &BooleanQuery::new(clauses),
                    &TopDocs::with_limit(PARTIAL).order_by_score(),
                )?;
                hits.extend(
                    found
                        .into_iter()
                        .filter_map(|(_, at)| self.hit(at, 1.0, role)),
                );
            }
            let score = |hit: &Hit, text: &str| {
                let name = normalise(text);
                let have: Vec<&str> = name.split(' ').collect();
                let whole = words.iter().all(|word| have.contains(word));
                let similar = similarity(&name, &normal);
                let score = if whole { similar.max(SIMILAR) } else { similar };
                (score >= SIMILAR).then(|| (score * of_kind(hit.kind), MatchKind::Partial))
            };
            self.best(&searcher, hits, k, score)
        })
    }

    /// Documents whose complete normalised name is `normal`.
    fn term(
        &self,
        searcher: &Searcher,
        normal: &str,
        form: f32,
        role: NodeRole,
        hits: &mut Vec<Hit>,
    ) -> Result<(), SearchError> {
        if normal.is_empty() {
            return Ok(());
        }
        let term = Term::from_field_text(self.fields.name, normal);
        for (ord, reader) in searcher.segment_readers().iter().enumerate() {
            let index = reader.inverted_index(self.fields.name)?;
            if let Some(postings) = index.read_postings(&term, IndexRecordOption::Basic)? {
                self.collect(ord, postings, form, role, hits);
            }
        }
        Ok(())
    }

    /// Adds the documents of a segment that are names of this role.
    pub(super) fn collect(
        &self,
        ord: usize,
        mut documents: impl DocSet,
        form: f32,
        role: NodeRole,
        hits: &mut Vec<Hit>,
    ) {
        let mut doc = documents.doc();
        while doc != TERMINATED {
            let at = DocAddress {
                segment_ord: u32::try_from(ord).unwrap_or(u32::MAX),
                doc_id: doc,
            };
            hits.extend(self.hit(at, form, role));
            doc = documents.advance();
        }
    }

    pub(super) fn hit(&self, at: DocAddress, form: f32, role: NodeRole) -> Option<Hit> {
        let segment = self.segments.get(at.segment_ord as usize)?;
        let (is, kind) = unpack(segment.what.first(at.doc_id)?);
        let node = NodeId(u32::try_from(segment.node.first(at.doc_id)?).ok()?);
        (is == role).then(|| Hit {
            at,
            node,
            degree: segment.degree.first(at.doc_id).unwrap_or(0),
            kind,
            form,
        })
    }

    /// The best `k` hits, one per node, ordered by score, degree and id.
    pub(super) fn best(
        &self,
        searcher: &Searcher,
        hits: Vec<Hit>,
        k: usize,
        score: impl Fn(&Hit, &str) -> Option<(f32, MatchKind)>,
    ) -> FoundLabels {
        let mut best: FxHashMap<NodeId, LabelMatch> = FxHashMap::default();
        for hit in hits {
            let document: TantivyDocument = searcher.doc(hit.at)?;
            let text = document
                .get_first(self.fields.text)
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_default();
            let Some((score, how)) = score(&hit, &text) else {
                continue;
            };
            let fresh = LabelMatch {
                node: hit.node,
                label: text,
                score,
                how,
                kind: hit.kind,
                degree: hit.degree,
            };
            match best.get(&hit.node) {
                Some(old) if (old.score, &fresh.label) >= (score, &old.label) => {}
                _ => {
                    best.insert(hit.node, fresh);
                }
            }
        }
        let mut candidates: Vec<LabelMatch> = best.into_values().collect();
        candidates.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then(b.degree.cmp(&a.degree))
                .then(a.node.cmp(&b.node))
        });
        candidates.truncate(k);
        Ok(candidates)
    }
}

fn of_kind(kind: NameKind) -> f32 {
    match kind {
        NameKind::Label => 1.0,
        NameKind::Alias => ALIAS,
        NameKind::Short => SHORT,
    }
}
