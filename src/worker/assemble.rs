//! From a loaded program to what a loop runs: outputs to encoders, policies.

use crate::api::pipeline::{OnTickError, OnUndecodable, Output, PartitionKeyType};
use crate::api::revision;
use crate::codec::Encoder;
use crate::dataflow::Plan;
use crate::error::{Code, Meaning};
use crate::flow::RootRef;
use crate::lang::checked::StreamKind;
use crate::program::Loaded;
use crate::runtime;
use std::sync::Arc;

/// Why a program cannot be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// An output names a stream that the plan does not have, which loading has ruled out.
    #[error("output {output}: the plan has no stream {stream}")]
    Stream {
        /// The output.
        output: String,
        /// What it names.
        stream: String,
    },
}

impl Meaning for AssembleError {
    fn code(&self) -> Code {
        match self {
            Self::Stream { .. } => Code::INTERNAL,
        }
    }
}

/// What a loop runs of a program under an epoch.
///
/// # Errors
/// An output names a stream that there is not.
pub fn assemble(loaded: Loaded, program: &revision::Program, root: RootRef) -> Result<runtime::Program, AssembleError> {
    let key = crate::program::bindings(program).key;
    let outputs = program.outputs.iter().map(|output| assembled(output, &loaded.plan)).collect::<Result<Vec<_>, _>>()?;
    let policies = policies(program, outputs.len());
    let text = program.root.text.as_str().into();
    Ok(runtime::Program { root, text, plan: Arc::new(loaded.plan), decoder: loaded.decoder, key, outputs, policies })
}

fn assembled(output: &Output, plan: &Plan) -> Result<runtime::Output, AssembleError> {
    let slot = |stream: &str| {
        let missing = || AssembleError::Stream { output: output.name.clone(), stream: stream.to_owned() };
        plan.streams().iter().position(|one| &*one.name == stream).ok_or_else(missing)
    };
    let named = |stream: &str| slot(stream).map(|at| (Arc::<str>::from(stream), at));
    let streams: Vec<(Arc<str>, usize)> = match &output.streams {
        Some(listed) => listed.iter().map(|name| named(name)).collect::<Result<_, _>>()?,
        None => plan
            .streams()
            .iter()
            .enumerate()
            .filter(|(_, stream)| stream.kind == StreamKind::Out)
            .map(|(at, stream)| (Arc::clone(&stream.name), at))
            .collect(),
    };
    Ok(runtime::Output {
        name: output.name.as_str().into(),
        encoder: Encoder::new(&streams),
        streams: streams.iter().map(|(_, at)| *at).collect(),
        emit_when: output.emit_when.as_deref().map(slot).transpose()?,
        metadata: output.metadata.unwrap_or_default(),
        partition_key: partition_key(output, slot)?,
    })
}

fn partition_key<E>(output: &Output, slot: impl Fn(&str) -> Result<usize, E>) -> Result<runtime::PartitionKey, E> {
    let rule = output.kinesis.as_ref().and_then(|kinesis| kinesis.partition_key.as_ref());
    Ok(match rule.map(|rule| (rule.r#type, &rule.stream, &rule.value)) {
        Some((PartitionKeyType::Stream, Some(stream), _)) => runtime::PartitionKey::Slot(slot(stream)?),
        Some((PartitionKeyType::Constant, _, Some(value))) => runtime::PartitionKey::Constant(value.as_str().into()),
        _ => runtime::PartitionKey::Record,
    })
}

fn policies(program: &revision::Program, outputs: usize) -> runtime::Policies {
    let undecodable = program.format.as_ref().and_then(|format| format.on_undecodable).unwrap_or_default();
    runtime::Policies {
        undecodable: match undecodable {
            OnUndecodable::Fail => runtime::UndecodablePolicy::Fail,
            OnUndecodable::DeadLetter => runtime::UndecodablePolicy::DeadLetter,
            OnUndecodable::Skip => runtime::UndecodablePolicy::Skip,
        },
        tick: match program.on_tick_error.unwrap_or_default() {
            OnTickError::Stop => runtime::TickPolicy::Stop,
            OnTickError::DeadLetterKey => runtime::TickPolicy::DeadLetterKey,
        },
        dead_letters: program.dead_letter.as_ref().map(|_| outputs),
        ttl: program.state_ttl.as_ref().map(crate::api::scalar::Duration::micros),
    }
}
