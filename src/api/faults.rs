//! The reasons by which a worker's faults become conditions: what a fault is about, told by its reason alone.
//!
//! Owns: these reasons, and which error has which of them where.
//! May not: decide a condition; the operator does.

use crate::error::Code;

/// There is no such stream to read.
pub const STREAM_NOT_FOUND: &str = "StreamNotFound";
/// The source may not be read: a right, credentials or a key are missing.
pub const ACCESS_DENIED: &str = "AccessDenied";
/// The source does not answer.
pub const ENDPOINT_UNREACHABLE: &str = "EndpointUnreachable";
/// The source is held back by its service.
pub const THROTTLED: &str = "Throttled";
/// The stream is another one of the same name.
pub const RECREATED: &str = "Recreated";
/// An output's stream does not exist.
pub const OUTPUT_NOT_FOUND: &str = "OutputNotFound";
/// An output may not be written to.
pub const OUTPUT_DENIED: &str = "OutputDenied";
/// An output does not answer.
pub const OUTPUT_UNREACHABLE: &str = "OutputUnreachable";
/// An output takes nothing, for another reason.
pub const OUTPUT_FAILED: &str = "OutputFailed";

/// What keeps a worker from its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Its source, for the reason that the condition gives.
    Source(&'static str),
    /// An output.
    Output,
    /// Something else.
    Other,
}

/// The reason of an error of the source.
#[must_use]
pub fn of_source(code: Code) -> &'static str {
    match code {
        Code::STREAM_NOT_FOUND => STREAM_NOT_FOUND,
        Code::KINESIS_DENIED | Code::CREDENTIALS_MISSING | Code::ENCRYPTION_KEY_UNUSABLE => ACCESS_DENIED,
        Code::KINESIS_UNREACHABLE => ENDPOINT_UNREACHABLE,
        Code::STREAM_RECREATED => RECREATED,
        other => own(other),
    }
}

/// The reason of an error of an output.
#[must_use]
pub fn of_output(code: Code) -> &'static str {
    match code {
        Code::STREAM_NOT_FOUND => OUTPUT_NOT_FOUND,
        Code::KINESIS_DENIED | Code::CREDENTIALS_MISSING | Code::ENCRYPTION_KEY_UNUSABLE => OUTPUT_DENIED,
        Code::KINESIS_UNREACHABLE => OUTPUT_UNREACHABLE,
        Code::KINESIS_REFUSED | Code::KINESIS_FAILED => OUTPUT_FAILED,
        other => own(other),
    }
}

fn own(code: Code) -> &'static str {
    code.entry().map_or("Internal", |entry| entry.reason)
}

/// What a fault with this reason is about. The reasons of the source's codes are understood as well.
#[must_use]
pub fn about(reason: &str) -> About {
    match reason {
        STREAM_NOT_FOUND => About::Source(STREAM_NOT_FOUND),
        ACCESS_DENIED | "KinesisDenied" | "CredentialsMissing" | "EncryptionKeyUnusable" => About::Source(ACCESS_DENIED),
        ENDPOINT_UNREACHABLE | "KinesisUnreachable" => About::Source(ENDPOINT_UNREACHABLE),
        THROTTLED => About::Source(THROTTLED),
        RECREATED | "StreamRecreated" => About::Source(RECREATED),
        OUTPUT_NOT_FOUND | OUTPUT_DENIED | OUTPUT_UNREACHABLE | OUTPUT_FAILED => About::Output,
        _ => About::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{About, about, of_output, of_source};
    use crate::error::{CODES, Code};

    #[test]
    fn an_outputs_error_is_never_told_as_the_sources() {
        for entry in CODES {
            let (source, output) = (about(of_source(entry.code)), about(of_output(entry.code)));
            assert!(source != About::Output || entry.code == Code::OUTPUT_FAILED, "{}", entry.code);
            // A stream that was made anew is only seen by who reads it.
            assert!(!matches!(output, About::Source(_)) || entry.code == Code::STREAM_RECREATED, "{}", entry.code);
        }
        assert_eq!((of_source(Code::STREAM_NOT_FOUND), of_output(Code::STREAM_NOT_FOUND)), ("StreamNotFound", "OutputNotFound"));
        assert_eq!(of_output(Code::UNSUPPORTED), "Unsupported");
    }

    #[test]
    fn the_reason_of_a_sources_code_means_what_its_own_reason_means() {
        for entry in CODES {
            let own = about(entry.reason);
            assert!(own == about(of_source(entry.code)), "{}: {own:?}", entry.reason);
        }
    }
}
