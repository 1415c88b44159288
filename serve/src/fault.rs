//! Why a request has no answer: a status, a code for programs and a message for people.

/// A request that was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The HTTP status.
    pub(crate) status: u16,
    /// A name that does not change with the wording of the message.
    pub(crate) code: &'static str,
    /// What is wrong, and what would be right.
    pub(crate) message: String,
    /// Whether the same request may succeed in a few seconds.
    pub(crate) again: bool,
}

impl Fault {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            again: false,
        }
    }

    /// A request that is wrong in itself.
    pub(crate) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(400, code, message)
    }

    /// Something that does not exist here.
    pub(crate) fn unknown(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(404, code, message)
    }

    /// The server has no room for the request now.
    pub(crate) fn busy(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            again: true,
            ..Self::new(503, code, message)
        }
    }

    /// A failure that is not the caller's. The message has no details; the log has them.
    pub(crate) fn internal() -> Self {
        Self::new(
            500,
            "internal",
            "the server failed at this request; its log says why",
        )
    }
}
