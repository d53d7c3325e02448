//! Why a call failed, and what that means.

use crate::error::{Code, Meaning, Retry};

/// A text that is no sequence number.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{0}` is no sequence number")]
pub struct NotASequence(pub(super) Box<str>);

/// What kind of failure it is: this alone decides what a caller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Asked too often or for too much: pacing, and no failure.
    Throttled,
    /// The iterator is too old: another one is needed.
    ExpiredIterator,
    /// The token of a listing is too old: the listing starts over.
    ExpiredToken,
    /// The service takes the call for wrong.
    Invalid,
    /// There is no such stream or shard.
    NotFound,
    /// The stream is being created, changed or deleted just now.
    Busy,
    /// The caller lacks a permission.
    Denied,
    /// There are no credentials, or none that the service accepts.
    Credentials,
    /// The key that encrypts the stream cannot be used.
    EncryptionKey,
    /// No connection could be made.
    Unreachable,
    /// No answer came in time; whether the call took effect is not known.
    TimedOut,
    /// The service failed, or its answer makes no sense.
    Failed,
}

impl Class {
    /// The code under which it reaches a user.
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            Self::NotFound => Code::STREAM_NOT_FOUND,
            Self::Denied => Code::KINESIS_DENIED,
            Self::Credentials => Code::CREDENTIALS_MISSING,
            Self::EncryptionKey => Code::ENCRYPTION_KEY_UNUSABLE,
            Self::Unreachable | Self::TimedOut => Code::KINESIS_UNREACHABLE,
            Self::Invalid => Code::KINESIS_REFUSED,
            Self::Throttled | Self::ExpiredIterator | Self::ExpiredToken | Self::Busy | Self::Failed => Code::KINESIS_FAILED,
        }
    }

    /// Whether the same call may succeed later without anybody's help.
    #[must_use]
    pub const fn may_pass(self) -> bool {
        !matches!(self, Self::NotFound | Self::Denied | Self::Credentials | Self::Invalid)
    }

    /// What to do about it, where a user can.
    const fn advice(self) -> &'static str {
        match self {
            Self::NotFound => "check the stream's name, account and region, or create the stream",
            Self::Denied => "grant the pipeline's identity this action on the stream",
            Self::Credentials => {
                "give the process AWS credentials: a pod identity or service account role, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            }
            Self::EncryptionKey => "enable the stream's KMS key, and let the pipeline's identity use it",
            Self::Unreachable => "check the endpoint, the region and the network",
            Self::TimedOut => "check the network and the service's health",
            Self::Invalid => "correct what the service names",
            Self::Throttled | Self::ExpiredIterator | Self::ExpiredToken | Self::Busy | Self::Failed => "nothing: it is tried again",
        }
    }
}

/// A call that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{call} of stream {stream} failed: {said}; {}", .class.advice())]
pub struct Fault {
    /// What kind of failure it is.
    pub class: Class,
    /// The call, by the service's name for it.
    pub call: &'static str,
    /// The stream.
    pub stream: Box<str>,
    /// What the service said, or what became of the connection.
    pub said: Box<str>,
}

impl Meaning for Fault {
    fn code(&self) -> Code {
        self.class.code()
    }

    fn retry(&self) -> Retry {
        if self.class.may_pass() { Retry::Backoff } else { Retry::Never }
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Fault};
    use crate::error::{Code, Exit, Meaning, Whose};

    #[test]
    fn what_a_user_must_mend_says_how_and_is_not_tried_for_ever() {
        for (class, code, whose, advice) in [
            (Class::NotFound, Code::STREAM_NOT_FOUND, Whose::User, "create the stream"),
            (Class::Denied, Code::KINESIS_DENIED, Whose::User, "grant"),
            (Class::Credentials, Code::CREDENTIALS_MISSING, Whose::User, "AWS_ACCESS_KEY_ID"),
            (Class::EncryptionKey, Code::ENCRYPTION_KEY_UNUSABLE, Whose::User, "KMS key"),
            (Class::Unreachable, Code::KINESIS_UNREACHABLE, Whose::External, "endpoint"),
        ] {
            let fault = Fault { class, call: "PutRecords", stream: "orders".into(), said: "no".into() };
            assert_eq!((fault.code(), fault.whose()), (code, whose));
            let text = fault.to_string();
            assert!(text.starts_with("PutRecords of stream orders failed: no; ") && text.contains(advice), "{text}");
        }
        let exit = |class| Fault { class, call: "", stream: "".into(), said: "".into() }.exit();
        assert_eq!(
            (exit(Class::NotFound), exit(Class::Unreachable), exit(Class::TimedOut)),
            (Exit::Invalid, Exit::Retryable, Exit::Retryable)
        );
    }
}
