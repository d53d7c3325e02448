//! A split's progress: in its record, and in the entries of pages.

use super::{FormError, splits, texts, time};
use crate::api::progress::{CutoverAt, Head, Progress, RootAt};
use crate::coordination::records;
use crate::flow::{RootRef, StateHead};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(super) fn write(progress: &records::Progress) -> Result<Progress, FormError> {
    Ok(Progress {
        position: progress.position.as_deref().map(str::to_owned),
        tip_time: progress.tip_time.map(|micros| time(micros, "tipTime")).transpose()?,
        head: progress.head.as_ref().map(write_head).transpose()?,
        inherits: texts(&progress.inherits),
        root: progress.root.map(|root| RootAt { epoch: root.epoch, digest: root.digest.to_string() }),
        cutovers: write_cutovers(&progress.cutovers),
    })
}

pub(super) fn read(progress: Progress) -> Result<records::Progress, FormError> {
    Ok(records::Progress {
        position: progress.position.map(Into::into),
        tip_time: progress.tip_time.map(|time| time.0.as_microsecond()),
        head: progress.head.map(read_head).transpose()?,
        inherits: splits(&progress.inherits).collect(),
        root: progress.root.as_ref().map(read_root).transpose()?,
        cutovers: read_cutovers(progress.cutovers),
    })
}

fn read_root(root: &RootAt) -> Result<RootRef, FormError> {
    let digest = root.digest.parse().map_err(|_| FormError::Field("root.digest"))?;
    Ok(RootRef { epoch: root.epoch, digest })
}

fn write_head(head: &StateHead) -> Result<Head, FormError> {
    Ok(match head {
        StateHead::Inline(bytes) => Head { inline: Some(STANDARD.encode(bytes)), ..Head::default() },
        StateHead::Object { name, length, digest } => Head {
            object: Some((**name).to_owned()),
            length: Some(i64::try_from(*length).map_err(|_| FormError::Field("head.length"))?),
            sha256: Some(digest.to_string()),
            ..Head::default()
        },
        StateHead::Lost => Head { lost: Some(true), ..Head::default() },
    })
}

fn read_head(head: Head) -> Result<StateHead, FormError> {
    match head {
        Head { lost: Some(true), .. } => Ok(StateHead::Lost),
        Head { object: Some(name), length: Some(length), sha256: Some(digest), .. } => Ok(StateHead::Object {
            name: name.into(),
            length: u64::try_from(length).map_err(|_| FormError::Field("head.length"))?,
            digest: digest.parse().map_err(|_| FormError::Field("head.sha256"))?,
        }),
        Head { inline: Some(text), .. } => {
            Ok(StateHead::Inline(STANDARD.decode(text).map_err(|_| FormError::Field("head.inline"))?.into()))
        }
        // A piece that is missing never means that there is no state.
        _ => Err(FormError::Field("head")),
    }
}

pub(super) fn write_cutovers(cutovers: &[records::CutoverAt]) -> Vec<CutoverAt> {
    let write = |one: &records::CutoverAt| CutoverAt { epoch: one.epoch, after: one.after.as_deref().map(str::to_owned) };
    cutovers.iter().map(write).collect()
}

pub(super) fn read_cutovers(cutovers: Vec<CutoverAt>) -> Vec<records::CutoverAt> {
    cutovers.into_iter().map(|one| records::CutoverAt { epoch: one.epoch, after: one.after.map(Into::into) }).collect()
}
