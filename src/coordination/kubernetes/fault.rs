//! What an answer of the API server, or the lack of one, means for the call.

use crate::coordination::store::StoreError;
use crate::error::chain;
use kube::core::Status;
use std::error::Error;

/// How a call failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// There is no such object.
    Absent,
    /// There is one of that name already.
    There,
    /// The object is another, or at another revision.
    Moved,
    /// Anything else.
    Store(StoreError),
}

impl Fault {
    /// As an error, where none of the outcomes of a compare-and-swap is asked for.
    pub(super) fn into_error(self) -> StoreError {
        let text = match self {
            Self::Store(error) => return error,
            Self::Absent => "the API server has no such object, nor the namespace",
            Self::There => "the API server has such an object",
            Self::Moved => "another write came between",
        };
        StoreError::NotWritten(text.into())
    }
}

/// What an error of the client means, of a call that `writes` or does not.
pub(super) fn of(error: &kube::Error, writes: bool) -> Fault {
    let text = || chain(error).into();
    Fault::Store(match error {
        kube::Error::Api(status) => return of_status(status, writes),
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => StoreError::Refused(text()),
        // Before anything is sent.
        kube::Error::Auth(_) => StoreError::NotWritten(text()),
        _ if writes && !is_unsent(error) => StoreError::Unknown(text()),
        _ => StoreError::NotWritten(text()),
    })
}

/// Whether there was never a connection on which a request could have gone out.
fn is_unsent(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        if cause.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(hyper_util::client::legacy::Error::is_connect) {
            return true;
        }
        next = cause.source();
    }
    false
}

fn of_status(status: &Status, writes: bool) -> Fault {
    let said = || format!("the API server says {}: {}", status.code, status.message).into();
    Fault::Store(match (status.code, status.reason.as_str()) {
        (404, _) if names_an_object(status) => return Fault::Absent,
        (409, "AlreadyExists") => return Fault::There,
        // Two creates were counted against a quota at once.
        (409, _) if is_of(status, "resourcequotas") => StoreError::NotWritten(said()),
        (409, _) => return Fault::Moved,
        (422, _) if is_about_the_uid(status) => return Fault::Moved,
        // A token that has just expired is replaced; a list that has is begun anew; a busy server has done nothing. Nor
        // has one that says 503 in its own words; a proxy's 503 may come after the request went through.
        (401 | 410 | 429, _) | (503, "ServiceUnavailable") => StoreError::NotWritten(said()),
        (400..=407 | 409..=499, _) => StoreError::Refused(said()),
        _ if writes => StoreError::Unknown(said()),
        _ => StoreError::NotWritten(said()),
    })
}

fn is_of(status: &Status, kind: &str) -> bool {
    status.details.as_ref().is_some_and(|details| details.kind == kind)
}

/// A kind that is not installed, or a namespace that is not there, is 404 as well.
fn names_an_object(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| !details.name.is_empty() && details.kind != "namespaces")
}

/// A patch that names the uid of an earlier object changes, for the API server, a field that cannot be changed.
fn is_about_the_uid(status: &Status) -> bool {
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    !causes.is_empty() && causes.iter().all(|cause| cause.field == "metadata.uid")
}

#[cfg(test)]
mod tests {
    use super::{Fault, of_status};
    use crate::coordination::store::StoreError;
    use kube::core::Status;
    use serde_json::{Value, json};

    fn fault(code: u16, reason: &str, details: &Value, writes: bool) -> &'static str {
        let status: Status = serde_json::from_value(json!({"code": code, "reason": reason, "message": "m", "details": details})).unwrap();
        match of_status(&status, writes) {
            Fault::Absent => "absent",
            Fault::There => "there",
            Fault::Moved => "moved",
            Fault::Store(StoreError::NotWritten(_)) => "not written",
            Fault::Store(StoreError::Unknown(_)) => "unknown",
            Fault::Store(StoreError::Refused(_)) => "refused",
        }
    }

    #[test]
    fn what_surely_was_not_written_is_told_from_what_may_have_been() {
        let (none, split) = (Value::Null, json!({"name": "s", "kind": "streamsplits"}));
        let uid = json!({"causes": [{"field": "metadata.uid"}]});
        let fields = json!({"causes": [{"field": "metadata.uid"}, {"field": "record.epoch"}]});
        for (code, reason, details, expected) in [
            (404, "NotFound", &split, "absent"),
            (404, "NotFound", &json!({"name": "n", "kind": "namespaces"}), "refused"),
            (404, "Failed to parse error data", &none, "refused"),
            (409, "AlreadyExists", &split, "there"),
            (409, "Conflict", &split, "moved"),
            (409, "Conflict", &json!({"name": "q", "kind": "resourcequotas"}), "not written"),
            (422, "Invalid", &uid, "moved"),
            (422, "Invalid", &fields, "refused"),
            (403, "Forbidden", &split, "refused"),
            (400, "BadRequest", &none, "refused"),
            (413, "RequestEntityTooLarge", &none, "refused"),
            (401, "Unauthorized", &none, "not written"),
            (429, "TooManyRequests", &none, "not written"),
            (503, "ServiceUnavailable", &none, "not written"),
            (503, "Failed to parse error data", &none, "unknown"),
            (408, "Timeout", &none, "unknown"),
            (500, "InternalError", &none, "unknown"),
            (500, "ServerTimeout", &none, "unknown"),
            (502, "Failed to parse error data", &none, "unknown"),
            (504, "Timeout", &none, "unknown"),
        ] {
            assert_eq!(fault(code, reason, details, true), expected, "{code} {reason}");
            let read = if expected == "unknown" { "not written" } else { expected };
            assert_eq!(fault(code, reason, details, false), read, "{code} {reason} of a read");
        }
        assert_eq!(fault(410, "Expired", &none, false), "not written");
    }
}
