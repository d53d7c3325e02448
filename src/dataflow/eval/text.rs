//! `dynamic` and `defer` in a tick.
//!
//! Owns: when a text comes into force, what its body reads, what its result is.
//! May not: compile texts (`plan::text`).

use super::operate::Reads;
use super::{Frame, Site, TextFrame, Tick, Trip, commit as commit_block, roll_back as roll_back_block};
use crate::dataflow::monitor::state::{BlockState, InForce, TextState};
use crate::dataflow::plan::block::Block;
use crate::dataflow::plan::code::{TextSpec, TextUse};
use crate::dataflow::slot::Slot;
use crate::dataflow::value::{Code, Failure, Text, Value};
use crate::lang::checked::TextMode;
use std::sync::Arc;

/// Texts are mostly the same one, held.
fn same(one: &str, next: &str) -> bool {
    std::ptr::eq(one, next) || one == next
}

impl Tick<'_> {
    pub(super) fn text(&mut self, site: Site<'_>, of: &TextUse, frame: &mut Frame, state: &mut BlockState) -> Result<Slot, Box<Trip>> {
        let Site { block, place } = site;
        let number = of.text as usize;
        let BlockState { cells, rest } = state;
        let held = rest.as_deref_mut().and_then(|rest| rest.texts.get_mut(number));
        let (Some(spec), Some(held)) = (block.texts.get(number), held) else { return Ok(Slot::NoVal) };
        let Some(mut own) = frame.texts.get_mut(number).map(std::mem::take) else { return Ok(Slot::NoVal) };
        own.ran = false;
        own.replaces = false;
        let source = Reads { registers: &frame.registers, cells }.get(of.source);
        if let Slot::Value(Value::Str(text)) = source {
            self.choose((of.text, spec), text, held, &mut own);
        }
        let instead = match source {
            Slot::Deferred => Some(Slot::Deferred),
            Slot::Failed(failure) => Some(Slot::Failed(failure.clone())),
            Slot::Value(Value::Str(_)) | Slot::NoVal => None,
            Slot::Value(other) => {
                let what = format!("a text is wanted here, not {}", other.kind().name());
                Some(Slot::Failed(Failure::new(Code::KIND, what).with(&[other])))
            }
        };
        let result = self.body(spec, frame, &mut own, held);
        if let Some(place) = frame.texts.get_mut(number) {
            *place = own;
        }
        let result = result.map_err(|trip| match block.places.get(place as usize) {
            Some(outer) => Box::new(Trip { place: outer.clone(), failure: trip.failure }),
            None => trip,
        })?;
        Ok(instead.unwrap_or(result))
    }

    /// Stages what a text changes.
    fn choose(&mut self, (number, spec): (u32, &TextSpec), text: &Text, held: &TextState, own: &mut TextFrame) {
        if let Some(body) = &held.body {
            if spec.mode == TextMode::Defer {
                return;
            }
            if same(&body.code.text, text.as_str()) {
                if held.refused.is_some() {
                    own.staged = TextState { body: held.body.clone(), refused: None };
                    own.replaces = true;
                }
                return;
            }
        }
        if held.refused.as_ref().is_some_and(|refused| same(refused.as_str(), text.as_str())) {
            return;
        }
        own.replaces = true;
        own.staged = match self.plan.texts.get(number, spec, text.as_str()) {
            Some(code) => {
                let state = BlockState::new(&code.block);
                TextState { body: Some(Arc::new(InForce { code, state })), refused: None }
            }
            None => TextState { body: held.body.clone(), refused: Some(text.clone()) },
        };
    }

    /// Runs the body in force, which is the staged one where there is one.
    fn body(&mut self, spec: &TextSpec, outer: &Frame, own: &mut TextFrame, held: &mut TextState) -> Result<Slot, Box<Trip>> {
        let TextFrame { frame, staged, replaces, ran } = own;
        let target = if *replaces { staged } else { held };
        let Some(body) = target.body.as_mut() else { return Ok(Slot::Deferred) };
        let InForce { code, state } = Arc::make_mut(body);
        frame.bind(code.id, &code.block);
        let count = code.reads.len();
        for (nth, place) in (0u32..).zip(&code.reads) {
            let Some((register, gate)) = spec.reads.get(*place as usize) else { continue };
            frame.set(nth, outer.registers.get(*register as usize).cloned().unwrap_or_default());
            let came = match gate.iter().map(|input| outer.registers.get(*input as usize)).find(|slot| !matches!(slot, Some(Slot::NoVal))) {
                _ if gate.is_empty() => Slot::Deferred,
                Some(_) => Slot::TRUE,
                None => Slot::NoVal,
            };
            if let Some(flag) = frame.registers.get_mut(count + nth as usize) {
                *flag = came;
            }
        }
        *ran = true;
        self.run(&code.block, frame, state, false)?;
        Ok(frame.registers.get(2 * count).cloned().unwrap_or_default())
    }
}

/// The body in force after the tick, with its code.
fn with_body(state: &mut BlockState, number: usize, then: impl FnOnce(&mut InForce)) {
    if let Some(body) = state.rest.as_deref_mut().and_then(|rest| rest.texts.get_mut(number)).and_then(|text| text.body.as_mut()) {
        then(Arc::make_mut(body));
    }
}

pub(super) fn commit(block: &Block, frame: &mut Frame, state: &mut BlockState) {
    for (number, own) in frame.texts.iter_mut().enumerate().take(block.texts.len()) {
        if own.replaces
            && let Some(place) = state.rest.as_deref_mut().and_then(|rest| rest.texts.get_mut(number))
        {
            *place = std::mem::take(&mut own.staged);
        }
        if own.ran {
            with_body(state, number, |body| commit_block(&body.code.block, &mut own.frame, &mut body.state));
        }
        own.ran = false;
        own.replaces = false;
    }
}

pub(super) fn roll_back(frame: &mut Frame, state: &mut BlockState) {
    for (number, own) in frame.texts.iter_mut().enumerate() {
        if own.ran && !own.replaces {
            with_body(state, number, |body| roll_back_block(&body.code.block, &mut own.frame, &mut body.state));
        }
        own.frame.ticked.clear();
        own.staged = TextState::default();
        own.ran = false;
        own.replaces = false;
    }
}
