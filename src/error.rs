//! What an error means: whose it is, whether to try again, its stable code, its reason in a condition.
//!
//! Owns: the vocabulary by which error policy, conditions, Events, metric labels and exit codes are decided.
//! May not: know any particular error; each module has its own type and says here what it means.

use std::time::Duration;

/// Who can mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Whose {
    /// The user: a manifest, a root, a command line.
    User,
    /// A service outside: Kinesis, the API server, a sink.
    External,
    /// Us.
    Internal,
}

/// Whether and when to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// It stays wrong until somebody changes something.
    Never,
    /// With growing delays.
    Backoff,
    /// Not before this time has passed.
    After(Duration),
    /// Not by us: somebody else owns it now (I41).
    Fenced,
}

/// A stable code, `MR` and four digits, listed in `docs/errors.md`. Codes are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u16);

/// One line of the list of codes.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The code.
    pub code: Code,
    /// The reason that a condition or Event carries, in `PascalCase`.
    pub reason: &'static str,
    /// Who can mend it.
    pub whose: Whose,
    /// What it says, in one sentence.
    pub meaning: &'static str,
    /// What to do about it, in one sentence.
    pub mend: &'static str,
}

macro_rules! codes {
    ($($name:ident = $number:literal, $reason:literal, $whose:ident, $meaning:literal, $mend:literal;)*) => {
        impl Code {
            $(#[doc = $meaning] pub const $name: Self = Self($number);)*
        }

        /// Every code there is, rising. `docs/errors.md` is checked against it.
        pub const CODES: &[Entry] = &[
            $(Entry { code: Code::$name, reason: $reason, whose: Whose::$whose, meaning: $meaning, mend: $mend },)*
        ];
    };
}

codes! {
    UNREADABLE_FILE = 1, "UnreadableFile", User, "A file that was named cannot be read.", "Check the path and its permissions.";
    INVALID_YAML = 2, "InvalidYaml", User, "A manifest is no well-formed YAML in UTF-8, or too large.", "Mend what the message names, where it names it.";
    WRONG_KIND = 3, "WrongKind", User, "A manifest is not one `StreamPipeline` of `millrace.dev/v1alpha1`.", "Keep exactly one `StreamPipeline` in the file, with its `apiVersion` and `kind`.";
    INVALID_SPEC = 4, "InvalidSpec", User, "A `StreamPipeline` breaks a rule of its schema.", "Change each field as its message says.";
    OUTPUT_FAILED = 5, "OutputFailed", External, "What the command prints could not be written.", "Check the disk, or the program that reads the output.";
    INTERNAL = 6, "Internal", Internal, "Something that cannot happen did.", "Please report it, with what the message says.";
    ROOT_ELSEWHERE = 7, "RootElsewhere", User, "The manifest is valid, but its root stands in a `ConfigMap`, which only a cluster has.", "To run it on this machine, write the root into `spec.root.inline`.";
    ROOT_TOO_LONG = 8, "RootTooLong", User, "A root in a `ConfigMap` is over 400 KiB.", "Shorten it, or split the pipeline in two.";
    DIGEST_MISMATCH = 9, "DigestMismatch", User, "A root in a `ConfigMap` is not the one that the manifest names.", "Write the SHA-256 that the message names into `spec.root.configMapRef.sha256`, if that text is meant.";
    FOREIGN_REVISION = 10, "ForeignRevision", Internal, "A stored revision is not wholly understood: it comes from a newer version, or somebody has changed it.", "Run the version that wrote it, or apply the pipeline again.";
    ROOT_INVALID = 11, "RootInvalid", User, "A root does not parse or check; its message names codes of its own (docs/program-errors.md), with line and column.", "Mend each place that is underlined, by its hint.";
    NAMES_DIFFER = 12, "NamesDiffer", User, "A manifest names a stream or an input that its root does not have.", "Use a name that the root declares, or declare it there.";
    NOT_FORMATTED = 13, "NotFormatted", User, "A root is not laid out as `millrace fmt` lays it out.", "Run `millrace fmt` on it.";

    PAYLOAD_NOT_JSON = 201, "PayloadNotJson", User, "A record's payload is not one JSON object in UTF-8.", "Mend the producer at the place that the message names; see docs/records.md for what a payload must look like.";
    PAYLOAD_NOT_UNPACKED = 202, "PayloadNotUnpacked", User, "A record's payload begins like gzip or zstd and cannot be unpacked.", "Mend the producer, or set `source.format.compression: None` if it is not compressed.";
    PAYLOAD_TOO_LARGE = 203, "PayloadTooLarge", User, "A record, or a value or the key in it, is larger or nested more deeply than is allowed.", "Send less in one record, or raise `root.limits.valueBytes` where the message names it.";
    VALUE_UNFIT = 204, "ValueUnfit", User, "A field of a record does not have the type that its input declares, or does not fit into it.", "Mend the producer, or declare the input by what it sends.";
    VALUE_MISSING = 205, "ValueMissing", User, "A record lacks a field that must be there: one of a struct, the key's or the time's.", "Mend the producer, or take the field out of the struct's type, `keyBy` or `root.time`.";
    TIME_LEADS = 206, "TimeLeads", User, "A record's own time lies further ahead of its arrival than `root.maxLead` allows.", "Set the producer's clock, or raise `root.maxLead`.";
    BINDING_UNFIT = 207, "BindingUnfit", User, "A binding does not fit the root: it names what is not there, or data that is never of the declared type.", "Change `root.inputs`, `root.time` or `keyBy`, or the type that the root declares.";

    TICK_FAILED = 301, "TickFailed", User, "A tick of a root failed: one of its operators has no result for its operands.", "Guard the operation, by the hint under its place.";
    BAD_ARGUMENT = 302, "BadArgument", User, "An argument means nothing for the file that it is given with.", "Leave it out, or change it as the message says.";
}

impl Code {
    /// The line of the list that explains this code.
    #[must_use]
    pub fn entry(self) -> Option<&'static Entry> {
        CODES.iter().find(|entry| entry.code == self)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MR{:04}", self.0)
    }
}

/// What an error means. Every module's error type implements it.
pub trait Meaning: std::error::Error {
    /// The stable code.
    fn code(&self) -> Code;

    /// Whether to try again.
    fn retry(&self) -> Retry {
        Retry::Never
    }

    /// Who can mend it.
    fn whose(&self) -> Whose {
        self.code().entry().map_or(Whose::Internal, |entry| entry.whose)
    }

    /// The reason for conditions and Events.
    fn reason(&self) -> &'static str {
        self.code().entry().map_or("Internal", |entry| entry.reason)
    }

    /// What the process ends with when this error ends it.
    fn exit(&self) -> Exit {
        match (self.whose(), self.retry()) {
            (Whose::User, _) => Exit::Invalid,
            (_, Retry::Backoff | Retry::After(_)) => Exit::Retryable,
            _ => Exit::Fault,
        }
    }
}

/// The exit codes of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// Something failed that is not the user's to mend.
    Fault = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The program or the pipeline is invalid.
    Invalid = 3,
    /// It may succeed when tried again.
    Retryable = 4,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::{CODES, Code, Exit, Meaning, Retry, Whose};
    use std::time::Duration;

    #[derive(Debug, thiserror::Error)]
    #[error("example")]
    struct Example(Code, Retry);

    impl Meaning for Example {
        fn code(&self) -> Code {
            self.0
        }

        fn retry(&self) -> Retry {
            self.1
        }
    }

    #[test]
    fn codes_rise_and_no_reason_stands_twice() {
        assert!(CODES.is_sorted_by(|one, next| one.code < next.code));
        let mut reasons: Vec<_> = CODES.iter().map(|entry| entry.reason).collect();
        reasons.sort_unstable();
        assert!(reasons.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn a_users_error_exits_3_and_one_that_may_pass_exits_4() {
        let user = Example(Code::INVALID_SPEC, Retry::Never);
        assert_eq!((user.whose(), user.reason(), user.exit()), (Whose::User, "InvalidSpec", Exit::Invalid));
        let passing = Example(Code::OUTPUT_FAILED, Retry::After(Duration::from_secs(1)));
        assert_eq!(passing.exit(), Exit::Retryable);
        assert_eq!(Example(Code::INTERNAL, Retry::Fenced).exit(), Exit::Fault);
        assert_eq!(Code::INVALID_SPEC.to_string(), "MR0004");
    }
}
