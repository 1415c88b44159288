//! ODA (observe, act, reflect). A [`Run`] works on one question: it provides the
//! [`Grammar`](crate::grammar::Grammar) of the next turn, executes the written turn and keeps the
//! transcript. Data generation and inference drive the same run, so a training example equals the
//! prompt at inference byte for byte.
//!
//! This is the form that small models are trained on; [`crate::published::oda`] is the published one. The
//! paper explores single entities and keeps at most 15 triples at a time, which cannot
//! enumerate a large set in 8 iterations. Here, triples with the same near end, relation and
//! direction form one group, which is taken or left as a whole. A taken group is a set that can be
//! explored, narrowed, counted and intersected like an entity. A group is named by its relation,
//! with `~` if it is followed from tails to heads:
//!
//! ```text
//! assistant  neighbor e0                       action: explore e0
//! tool       out sports.athlete.teams people.person.place_of_birth …
//! assistant  sports.athlete.teams              reflection: what is worth remembering
//! tool       v0 many                           … and what can be seen from there
//! assistant  neighbor v0
//! tool       out sports.stint.team sports.stint.from_to …
//! assistant  sports.stint.from_to = x0         a group narrowed by a value of the question
//! tool       v1 many
//! assistant  …
//! assistant  answer count v3                   the answer, over what was remembered
//! ```
//!
//! The tools of [`crate::exec`] execute everything, so answers come with program, evidence and
//! provenance.

mod error;
mod grammar;
mod options;
mod read;
mod rules;
mod run;
mod selected;

pub use error::OdaError;
pub use options::{OdaOptions, Reflection};
pub use read::{
    Action, AnswerTurn, Pick, parse_action, parse_action_lenient, parse_reflection,
    parse_reflection_lenient,
};
pub use run::{Awaited, Run};
pub use selected::Selected;
