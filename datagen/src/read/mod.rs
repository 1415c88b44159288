//! Readers: one file per format, all behind [`QuestionReader`]. Every file may be compressed. Queries
//! are kept as text or built as algebra; text is never spliced into SPARQL.

mod creak;
mod csv;
mod cwq;
mod description;
mod file;
mod grailqa;
mod json;
mod jsonl;
mod kqapro;
mod lcquad1;
mod lcquad2;
mod metaqa;
mod path;
mod pathquestion;
mod qald;
mod qald10;
mod reader;
mod registry;
mod sample;
mod source;
mod substitute;
mod templates;
mod trex;
mod webqsp;
mod zeroshot;

pub use description::SourceFormat;
pub(crate) use file::each_line as lines_of;
pub use reader::{Each, QuestionReader, ReadOptions, ReadRequest};
pub use registry::{page, readers};
pub use sample::{Likeness, Sample, SampleForm};
pub use source::QuestionSource;
pub(crate) use templates::SOURCE as TEMPLATES;
