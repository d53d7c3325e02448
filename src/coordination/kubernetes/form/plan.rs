//! The plan record in its `ConfigMap`: what people and the operator look for as plain texts, the shards packed as a ledger
//! page is, since a stream may have ten thousand of them.

use super::{FormError, SCHEMA, splits, texts};
use crate::api::ledger_page::{pack, unpack};
use crate::coordination::records::{Descriptor, PlanRecord, Shard};
use crate::flow::SplitId;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct Fields {
    data: Data,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    schema: String,
    stream: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    has_run: String,
    whole: String,
    r#final: String,
    initial: String,
}

/// A shard of the first listing.
#[derive(Serialize, Deserialize)]
struct Listed {
    split: String,
    shard: String,
    /// Absent: the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    range: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parents: Vec<String>,
}

pub(super) fn write(plan: &PlanRecord, stood: Option<&Fields>) -> Result<Fields, FormError> {
    let initial: Vec<Listed> = plan.initial.iter().map(|shard| write_shard(plan, shard)).collect();
    Ok(Fields {
        data: Data {
            schema: stood.map_or_else(|| SCHEMA.to_string(), |stood| stood.data.schema.clone()),
            stream: (*plan.stream).to_owned(),
            start: plan.start.as_deref().map(str::to_owned),
            has_run: plan.has_run.to_string(),
            whole: plan.whole.to_string(),
            r#final: plan.is_final.to_string(),
            initial: pack(&initial)?,
        },
    })
}

fn write_shard(plan: &PlanRecord, shard: &Shard) -> Listed {
    let Descriptor { stream, shard: name, hash_range } = &shard.descriptor;
    Listed {
        split: shard.split.as_str().to_owned(),
        shard: (**name).to_owned(),
        stream: Some(stream).filter(|stream| **stream != plan.stream).map(|stream| (**stream).to_owned()),
        range: hash_range.as_ref().map(|(from, to)| ((**from).to_owned(), (**to).to_owned())),
        parents: texts(&shard.parents),
    }
}

pub(super) fn read(fields: Fields) -> Result<PlanRecord, FormError> {
    let Data { stream, start, has_run, whole, r#final, initial, .. } = fields.data;
    let listed: Vec<Listed> = unpack(&initial)?;
    Ok(PlanRecord {
        initial: listed.into_iter().map(|shard| read_shard(&stream, shard)).collect(),
        start: start.map(Into::into),
        has_run: flag(&has_run, "data.hasRun")?,
        whole: flag(&whole, "data.whole")?,
        is_final: flag(&r#final, "data.final")?,
        stream: stream.into(),
    })
}

fn read_shard(stream: &str, listed: Listed) -> Shard {
    let stream = listed.stream.unwrap_or_else(|| stream.to_owned()).into();
    let hash_range = listed.range.map(|(from, to)| (from.into(), to.into()));
    let parents = splits(&listed.parents).collect();
    Shard { split: SplitId::new(&listed.split), descriptor: Descriptor { stream, shard: listed.shard.into(), hash_range }, parents }
}

fn flag(text: &str, field: &'static str) -> Result<bool, FormError> {
    text.parse().map_err(|_| FormError::Field(field))
}
