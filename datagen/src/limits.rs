//! Limits of this crate with their reasons.

/// Maximum bytes of a question file after decompression. The largest published set (GrailQA) has 90
/// MB; this stops a decompression bomb.
pub(crate) const FILE_BYTES: u64 = 2 << 30;

/// Maximum bytes of one line of a file that is read line by line: enough for a record with
/// thousands of answers, too few for a file without line ends.
pub(crate) const LINE_BYTES: u64 = 64 << 20;

/// Bytes read to recognise the format of a file: more than the first record of any published set.
pub(crate) const SAMPLE_BYTES: u64 = 1 << 20;

/// Default number of questions per template: enough to vary entities, few enough that no template
/// dominates.
pub(crate) const PER_TEMPLATE: usize = 200;

/// Questions processed between two writes; bounds the memory that they take.
pub(crate) const BLOCK: usize = 4096;

/// Refused questions that are written out in full; the rest are only counted.
pub(crate) const REFUSED_WRITTEN: usize = 10_000;

/// Maximum size of a set for which every other relation is compared before a relation is hidden to
/// teach abstention. Larger sets are not used for that.
pub(crate) const ABSTAIN_SET: usize = 64;

/// Maximum characters of a detail in reports; longer query texts and errors are truncated.
pub(crate) const DETAIL_CHARS: usize = 600;
