//! From the SDK's errors to faults: which class an error is of.

use crate::error::chain;
use crate::kinesis::fault::{Class, Fault, NotASequence};
use crate::kinesis::sequence::Sequence;
use aws_sdk_kinesis::config::http::HttpResponse;
use aws_sdk_kinesis::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_kinesis::types::PutRecordsResultEntry;
use std::error::Error;

/// The fault that an error of a call is.
pub(super) fn fault<E>(call: &'static str, stream: &str, error: &SdkError<E, HttpResponse>) -> Fault
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let (class, said) = match error {
        SdkError::ServiceError(context) => {
            let (code, status) = (context.err().code(), context.raw().status().as_u16());
            let said = match (code, context.err().message()) {
                (Some(code), Some(message)) => format!("{code}: {message}"),
                (Some(text), None) | (None, Some(text)) => text.to_owned(),
                (None, None) => format!("HTTP status {status}"),
            };
            (of_answer(code, status), said)
        }
        SdkError::TimeoutError(_) => (Class::TimedOut, "no answer in time".to_owned()),
        SdkError::DispatchFailure(failure) => {
            let whole = DisplayErrorContext(error).to_string();
            (of_dispatch(failure.is_timeout(), failure.is_io(), &whole), chain(error))
        }
        SdkError::ConstructionFailure(_) => (Class::Invalid, chain(error)),
        _ => (Class::Failed, chain(error)),
    };
    Fault { class, call, stream: stream.into(), said: said.into() }
}

/// What became of one record of a `PutRecords`.
pub(super) fn entry(stream: &str, entry: &PutRecordsResultEntry) -> Result<Sequence, Fault> {
    let fault = |class, said: &str| Fault { class, call: "PutRecords", stream: stream.into(), said: said.into() };
    match (entry.error_code(), entry.sequence_number()) {
        (Some(code), _) => {
            let said = entry.error_message().map_or_else(|| code.to_owned(), |message| format!("{code}: {message}"));
            Err(fault(of_answer(Some(code), 500), &said))
        }
        (None, Some(sequence)) => sequence.parse().map_err(|error: NotASequence| fault(Class::Failed, &error.to_string())),
        (None, None) => Err(fault(Class::Failed, "a record without an answer")),
    }
}

/// By the service's code, and by the HTTP status where it gives none that is known.
fn of_answer(code: Option<&str>, status: u16) -> Class {
    match code.unwrap_or_default() {
        "ProvisionedThroughputExceededException"
        | "LimitExceededException"
        | "ThrottlingException"
        | "Throttling"
        | "RequestLimitExceeded"
        | "KMSThrottlingException" => Class::Throttled,
        "ExpiredIteratorException" => Class::ExpiredIterator,
        "ExpiredNextTokenException" => Class::ExpiredToken,
        "ResourceNotFoundException" => Class::NotFound,
        "ResourceInUseException" => Class::Busy,
        "InvalidArgumentException" | "ValidationException" | "SerializationException" => Class::Invalid,
        "AccessDeniedException" | "AccessDenied" => Class::Denied,
        "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "IncompleteSignature"
        | "IncompleteSignatureException"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException" => Class::Credentials,
        code if code.starts_with("KMS") => Class::EncryptionKey,
        _ => match status {
            429 => Class::Throttled,
            403 => Class::Denied,
            404 | 413 => Class::Invalid,
            _ => Class::Failed,
        },
    }
}

/// A call that never became an answer. The SDK gives credentials that cannot be had no type of their own.
fn of_dispatch(timeout: bool, io: bool, said: &str) -> Class {
    if timeout {
        Class::TimedOut
    } else if !io && said.contains("credential") {
        Class::Credentials
    } else {
        Class::Unreachable
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, of_answer, of_dispatch};

    #[test]
    fn every_code_of_the_service_has_its_class() {
        for (code, class) in [
            ("ProvisionedThroughputExceededException", Class::Throttled),
            ("KMSThrottlingException", Class::Throttled),
            ("KMSDisabledException", Class::EncryptionKey),
            ("KMSAccessDeniedException", Class::EncryptionKey),
            ("KMSOptInRequired", Class::EncryptionKey),
            ("AccessDeniedException", Class::Denied),
            ("UnrecognizedClientException", Class::Credentials),
            ("ExpiredIteratorException", Class::ExpiredIterator),
            ("ExpiredNextTokenException", Class::ExpiredToken),
            ("ResourceNotFoundException", Class::NotFound),
            ("ResourceInUseException", Class::Busy),
            ("InvalidArgumentException", Class::Invalid),
            ("InternalFailure", Class::Failed),
            // A session that has just run out is renewed by the SDK.
            ("ExpiredTokenException", Class::Failed),
        ] {
            assert_eq!(of_answer(Some(code), 400), class, "{code}");
        }
    }

    #[test]
    fn an_answer_without_a_known_code_is_judged_by_its_status() {
        for (status, class) in
            [(500, Class::Failed), (503, Class::Failed), (429, Class::Throttled), (413, Class::Invalid), (403, Class::Denied)]
        {
            assert_eq!(of_answer(None, status), class, "{status}");
        }
    }

    #[test]
    fn a_call_without_an_answer_is_told_from_one_without_credentials() {
        assert_eq!(of_dispatch(false, true, "connection refused"), Class::Unreachable);
        assert_eq!(of_dispatch(true, false, "deadline"), Class::TimedOut);
        assert_eq!(of_dispatch(false, false, "the credential provider was not enabled"), Class::Credentials);
    }
}
