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

/// One line of a list of codes.
#[derive(Clone, Copy, Debug)]
pub struct Entry<C> {
    /// The code.
    pub code: C,
    /// The reason that a condition or Event carries, in `PascalCase`.
    pub reason: &'static str,
    /// Who can mend it.
    pub whose: Whose,
    /// What it says, in one sentence.
    pub meaning: &'static str,
    /// What to do about it, in one sentence.
    pub mend: &'static str,
}

/// Makes a list of codes: the type `Code` with a constant for each line, and `CODES`. A line that does not say whose the
/// error is means the user's. Numbers must rise, or it does not compile.
macro_rules! codes {
    (@whose) => { $crate::error::Whose::User };
    (@whose $whose:ident) => { $crate::error::Whose::$whose };
    ($($name:ident = $number:literal, $reason:literal, $($whose:ident,)? $meaning:literal, $mend:literal;)*) => {
        /// A stable code, `MR` and four digits. Codes are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct Code(u16);

        /// Every code there is, rising. The tables in `docs/` are checked against it.
        pub const CODES: &[$crate::error::Entry<Code>] = &[$($crate::error::Entry {
            code: Code::$name,
            reason: $reason,
            whose: $crate::error::codes!(@whose $($whose)?),
            meaning: $meaning,
            mend: $mend,
        },)*];

        const _: () = assert!($crate::error::rise(&[$($number),*]), "codes rise");

        impl Code {
            $(#[doc = $meaning] pub const $name: Self = Self($number);)*

            /// The line of the list that explains this code.
            #[must_use]
            pub fn entry(self) -> Option<&'static $crate::error::Entry<Self>> {
                CODES.iter().find(|entry| entry.code == self)
            }

            /// The code with this number.
            #[must_use]
            pub fn of(number: u16) -> Option<Self> {
                CODES.iter().map(|entry| entry.code).find(|code| code.0 == number)
            }

            /// The number in it.
            #[must_use]
            pub const fn number(self) -> u16 {
                self.0
            }
        }

        impl std::fmt::Display for Code {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "MR{:04}", self.0)
            }
        }

        #[cfg(test)]
        #[test]
        fn no_reason_of_a_code_stands_twice() {
            let mut reasons: Vec<_> = CODES.iter().map(|entry| entry.reason).collect();
            reasons.sort_unstable();
            assert!(reasons.is_sorted_by(|one, next| one < next), "{reasons:?}");
        }
    };
}

pub(crate) use codes;

/// Whether each number is above the one before.
pub(crate) const fn rise(mut numbers: &[u16]) -> bool {
    while let [one, rest @ ..] = numbers {
        if let [next, ..] = rest
            && *one >= *next
        {
            return false;
        }
        numbers = rest;
    }
    true
}

codes! {
    UNREADABLE_FILE = 1, "UnreadableFile", User, "A file that was named cannot be read.", "Check the path and its permissions.";
    INVALID_YAML = 2, "InvalidYaml", User, "A manifest is no well-formed YAML in UTF-8, or too large.", "Mend what the message names, where it names it.";
    WRONG_KIND = 3, "WrongKind", User, "A manifest is not one `StreamPipeline` of `millrace.dev/v1alpha1`.", "Keep exactly one `StreamPipeline` in the file, with its `apiVersion` and `kind`.";
    INVALID_SPEC = 4, "InvalidSpec", User, "A `StreamPipeline` breaks a rule of its schema.", "Change each field as its message says.";
    OUTPUT_FAILED = 5, "OutputFailed", External, "What a command prints or writes could not be written.", "Check the path and the disk, or the program that reads the output.";
    INTERNAL = 6, "Internal", Internal, "Something that cannot happen did.", "Please report it, with what the message says.";
    ROOT_ELSEWHERE = 7, "RootElsewhere", User, "The manifest is valid, but its root stands in a `ConfigMap`, which only a cluster has.", "To run it on this machine, write the root into `spec.root.inline`.";
    ROOT_TOO_LONG = 8, "RootTooLong", User, "A root in a `ConfigMap` is over 400 KiB.", "Shorten it, or split the pipeline in two.";
    DIGEST_MISMATCH = 9, "DigestMismatch", User, "A root in a `ConfigMap` is not the one that the manifest names.", "Write the SHA-256 that the message names into `spec.root.configMapRef.sha256`, if that text is meant.";
    FOREIGN_REVISION = 10, "ForeignRevision", Internal, "A stored revision is not wholly understood: it comes from a newer version, or somebody has changed it.", "Run the version that wrote it, or apply the pipeline again.";
    ROOT_INVALID = 11, "RootInvalid", User, "A root does not parse or check; its message names codes of its own (docs/program-errors.md), with line and column.", "Mend each place that is underlined, by its hint.";
    NAMES_DIFFER = 12, "NamesDiffer", User, "A manifest names a stream or an input that its root does not have.", "Use a name that the root declares, or declare it there.";
    NOT_FORMATTED = 13, "NotFormatted", User, "A root is not laid out as `millrace fmt` lays it out.", "Run `millrace fmt` on it.";
    UNSUPPORTED = 14, "Unsupported", User, "A manifest asks for something that this version does not do, or not on this machine.", "Do what the message names instead.";
    BAD_ARGUMENT = 15, "BadArgument", User, "An argument means nothing for the file that it is given with.", "Leave it out, or change it as the message says.";
    STORE_UNREACHABLE = 40, "StoreUnreachable", External, "The store of coordination does not answer.", "Check the store and the network; work goes on by itself once it answers.";
    STORE_REFUSED = 41, "StoreRefused", External, "The store of coordination refuses a call that repeating will not help.", "Mend what the message names: a permission, a size, a definition that is not installed.";
    SUPERSEDED = 42, "Superseded", External, "Another process has taken this worker's name.", "Nothing, if it was restarted; else see that no two processes run under one name.";
    POSITION_WENT_BACK = 43, "PositionWentBack", Internal, "A source gave a position that is not the one it was asked for.", "Please report it, with what the message says.";
    RECORD_LOST = 44, "RecordLost", External, "The record of a split was deleted, while ledger entries say that the split was read.", "Restore the StreamSplit that the message names from a backup.";
    PAYLOAD_NOT_JSON = 201, "PayloadNotJson", User, "A record's payload is not one JSON object in UTF-8.", "Mend the producer at the place that the message names; see docs/records.md for what a payload must look like.";
    PAYLOAD_NOT_UNPACKED = 202, "PayloadNotUnpacked", User, "A record's payload begins like gzip or zstd and cannot be unpacked.", "Mend the producer, or set `source.format.compression: None` if it is not compressed.";
    PAYLOAD_TOO_LARGE = 203, "PayloadTooLarge", User, "A record, or a value or the key in it, is larger or nested more deeply than is allowed.", "Send less in one record, or raise `root.limits.valueBytes` where the message names it.";
    VALUE_UNFIT = 204, "ValueUnfit", User, "A field of a record does not have the type that its input declares, or does not fit into it.", "Mend the producer, or declare the input by what it sends.";
    VALUE_MISSING = 205, "ValueMissing", User, "A record lacks a field that must be there: one of a struct, the key's or the time's.", "Mend the producer, or take the field out of the struct's type, `keyBy` or `root.time`.";
    TIME_LEADS = 206, "TimeLeads", User, "A record's own time lies further ahead of its arrival than `root.maxLead` allows.", "Set the producer's clock, or raise `root.maxLead`.";
    BINDING_UNFIT = 207, "BindingUnfit", User, "A binding does not fit the root: it names what is not there, or data that is never of the declared type.", "Change `root.inputs`, `root.time` or `keyBy`, or the type that the root declares.";
    TICK_FAILED = 301, "TickFailed", User, "A tick failed, and the policy for that is `Stop`: the message names the record, the stream and the operator's place.", "Guard the operation in the root (`docs/language.md`, Failure), or set `failure.onTickError: DeadLetterKey`.";
    DRAIN_INCOMPLETE = 302, "DrainIncomplete", External, "Rows could not be delivered by the deadline; what they came from stays uncommitted.", "See what the outputs say; raise `worker.drainTimeout` if they are merely slow.";
    READER_GONE = 303, "ReaderGone", External, "The program that reads the output has ended.", "Nothing, if it has seen enough.";
    STATE_STORE_REQUIRED = 304, "StateStoreRequired", User, "The state of a split no longer fits into its ledger entry (64 KiB), and the pipeline has no state store.", "Keep less state: shorter windows, fewer keys, or `state.ttl`.";
    STATE_UNREADABLE = 305, "StateUnreadable", External, "Stored state of a split is missing, damaged, or of a form that this version does not know.", "Restore the object that the message names, or run the version that wrote it.";
    ROOT_MISSING = 306, "RootMissing", External, "State was made under a revision that is not stored any more.", "Restore the revision's `ConfigMap` from a backup.";
    STREAM_NOT_FOUND = 401, "StreamNotFound", User, "A Kinesis stream, or a shard of it, does not exist in the account and region that were asked.", "Check the stream's name, account and region, or create it.";
    KINESIS_DENIED = 402, "KinesisDenied", User, "The pipeline's identity may not make a call of a Kinesis stream.", "Grant it the action that the message names.";
    CREDENTIALS_MISSING = 403, "CredentialsMissing", User, "There are no AWS credentials, or none that the service accepts.", "Give the workers a pod identity or a service account role, or set the environment's credentials.";
    ENCRYPTION_KEY_UNUSABLE = 404, "EncryptionKeyUnusable", User, "The KMS key that encrypts a Kinesis stream cannot be used.", "Enable the key, and let the pipeline's identity use it; work goes on by itself.";
    KINESIS_UNREACHABLE = 405, "KinesisUnreachable", External, "Kinesis does not answer.", "Check the endpoint, the region and the network; work goes on by itself once it answers.";
    KINESIS_REFUSED = 406, "KinesisRefused", External, "Kinesis takes a call for wrong.", "Correct what the message names.";
    KINESIS_FAILED = 407, "KinesisFailed", External, "Kinesis failed on its side, or is too busy.", "Nothing, while it is tried again; if it lasts, look at the service's health and the stream's limits.";
    ROW_UNFIT = 408, "RowUnfit", User, "A row can never be written to its Kinesis stream: it is too large, or its partition key too long.", "Let the output carry less, or raise the stream's largest record size.";
    STREAM_RECREATED = 409, "StreamRecreated", User, "The Kinesis stream was deleted and created again under its name.", "Read the new one in a pipeline of another name.";
    POSITION_INVALID = 410, "PositionInvalid", External, "Kinesis does not take a stored position for one of its own, though the stream is the same.", "Read the stream on in a pipeline of another name, from a `Timestamp`.";
    CLUSTER_FAILED = 501, "ClusterFailed", External, "The API server refuses something, or does not answer.", "See what the message says; if rights are missing, grant them to the operator.";
    OLD_DEFINITIONS = 502, "OldDefinitions", User, "The CustomResourceDefinitions that are installed lack fields that this version writes.", "Apply those of this version: `millrace crd | kubectl apply -f -`.";
    NAME_TAKEN = 503, "NameTaken", User, "An object that a pipeline needs is there already, and is somebody else's.", "Delete or rename that object, or give the pipeline another name.";
    REVISION_LOST = 504, "RevisionLost", User, "The stored revision of a program that was running is gone or changed.", "Apply a pipeline with a valid program, which becomes a revision of its own.";
}

/// An error and its causes, in one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        // Some say their cause themselves.
        if !text.ends_with(&more) {
            text.push_str(&format!(": {more}"));
        }
        next = cause.source();
    }
    text
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
    use super::{Code, Exit, Meaning, Retry, Whose, rise};
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
    fn a_list_that_does_not_rise_is_seen() {
        assert!(rise(&[]) && rise(&[1]) && rise(&[1, 2, 9]));
        assert!(!rise(&[1, 1]) && !rise(&[1, 3, 2]));
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
