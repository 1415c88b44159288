//! Limits of this crate, each with its reason.

/// Bytes of a question file after decompression: the largest published set (GrailQA) has 90 MB; a decompression bomb stops here.
pub(crate) const FILE_BYTES: u64 = 2 << 30;

/// Bytes of one line of a question file that is read line by line: a record with thousands of answers fits, a file without line ends does not.
pub(crate) const LINE_BYTES: u64 = 64 << 20;

/// Bytes read to see what kind of file it is: more than the first record of any published set.
pub(crate) const SAMPLE_BYTES: u64 = 1 << 20;

/// Questions made from one template unless asked otherwise: enough to vary entities, few enough that no template drowns the others.
pub(crate) const PER_TEMPLATE: usize = 200;

/// Questions whose choices are worked out between two writes: bounds the memory that they take.
pub(crate) const BLOCK: usize = 4096;

/// Refused questions written out in full, for a reader; the rest are only counted.
pub(crate) const REFUSED_WRITTEN: usize = 10_000;

/// Members of a set for which it is checked that no other relation leads to the same result, before a relation is taken out of the view to
/// teach abstention. Larger sets are not used for that.
pub(crate) const ABSTAIN_SET: usize = 64;

/// Characters of a detail in reports: query texts and errors are cut there.
pub(crate) const DETAIL_CHARS: usize = 600;
