//! State by stable names: what a block's state holds, taken out of one layout and put into another.
//!
//! Owns: the pieces' contents, how each is fitted to another length.
//! May not: write bytes (`snapshot`), decide what a cutover keeps (`transfer`).
//!
//! A snapshot is the contents as bytes, a transfer is taking out under one plan and putting in under another: the same
//! mechanism, so both give the same state.

use super::state::{BlockState, InForce, Ring, TextState};
use crate::dataflow::eval::set_flag;
use crate::dataflow::plan::Plan;
use crate::dataflow::plan::block::{At, Block};
use crate::dataflow::slot::Slot;
use crate::dataflow::value::{Text, Value};
use crate::dataflow::window::{Window, WindowSpec};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// What a piece holds.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Cell(Slot),
    /// A flag that is set.
    Flag,
    /// The newest first; what is missing is Deferred.
    Ring(VecDeque<Slot>),
    Window(WindowSpec, Window),
    /// The text in force and its pieces; the text that was refused last.
    Text(Option<(Arc<str>, Contents)>, Option<Text>),
}

/// Contents with their pieces' names, in the order of the plan. Pieces that have seen nothing are left out.
pub(crate) type Contents = Vec<(u64, Content)>;

/// Takes out what a block's state holds.
pub(crate) fn take(block: &Block, state: &BlockState) -> Contents {
    block.pieces.iter().filter_map(|piece| Some((piece.id, content(block, state, piece.at)?))).collect()
}

fn content(block: &Block, state: &BlockState, at: At) -> Option<Content> {
    let rest = state.rest.as_deref();
    match at {
        At::Cell(cell) => match state.cells.get(cell as usize)? {
            Slot::NoVal => None,
            slot => Some(Content::Cell(slot.clone())),
        },
        At::Flag(flag) => match state.cells.get(flag.cell as usize)? {
            Slot::Value(Value::Int(word)) => (word >> flag.bit & 1 == 1).then_some(Content::Flag),
            _ => None,
        },
        At::Short { cell, length } => {
            let start = cell as usize;
            ring(state.cells.get(start..start + length as usize)?.iter().cloned().collect())
        }
        At::Long { ring: at, .. } => ring(rest?.rings.get(at as usize)?.values.clone()),
        At::Window(window) => {
            let (window, spec) = (rest?.windows.get(window as usize)?, block.windows.get(window as usize)?);
            (!window.is_empty()).then(|| Content::Window(*spec, window.clone()))
        }
        At::Text(text) => {
            let text = rest?.texts.get(text as usize)?;
            let body = text.body.as_deref().map(|body| (Arc::clone(&body.code.text), take(&body.code.block, &body.state)));
            (body.is_some() || text.refused.is_some()).then(|| Content::Text(body, text.refused.clone()))
        }
    }
}

fn ring(mut values: VecDeque<Slot>) -> Option<Content> {
    while matches!(values.back(), Some(Slot::Deferred)) {
        values.pop_back();
    }
    (!values.is_empty()).then_some(Content::Ring(values))
}

/// Puts contents into a block that has seen nothing: what it has no piece for is left out, what is not there stays as it
/// is. `front` is the key's.
pub(crate) fn put(plan: &Plan, block: &Block, contents: Contents, front: i64) -> BlockState {
    let mut state = BlockState::new(block);
    let mut named: HashMap<u64, Vec<Content>> = HashMap::new();
    for (id, content) in contents {
        named.entry(id).or_default().push(content);
    }
    let mut left = Vec::new();
    for piece in &block.pieces {
        let Some(found) = named.get_mut(&piece.id) else { continue };
        match found.iter().position(|content| fits(block, piece.at, content)) {
            Some(at) => put_one(plan, block, &mut state, piece.at, (found.remove(at), front)),
            None => left.push(piece),
        }
    }
    for piece in left {
        let Some(found) = named.get_mut(&piece.id) else { continue };
        if let Some(at) = found.iter().position(|content| carries(block, piece.at, content)) {
            put_one(plan, block, &mut state, piece.at, (found.remove(at), front));
        }
    }
    state
}

/// Whether it needs no fitting beyond that of a ring, whose name is its own.
fn fits(block: &Block, at: At, content: &Content) -> bool {
    match (at, content) {
        (At::Window(window), Content::Window(spec, _)) => block.windows.get(window as usize).is_some_and(|own| same(own, spec)),
        _ => true,
    }
}

/// Whether two windows are of one shape; the cap is a setting.
pub(crate) fn same(one: &WindowSpec, next: &WindowSpec) -> bool {
    WindowSpec { cap: 0, ..*one } == WindowSpec { cap: 0, ..*next }
}

fn carries(block: &Block, at: At, content: &Content) -> bool {
    match (at, content) {
        (At::Window(window), Content::Window(spec, _)) => block.windows.get(window as usize).is_some_and(|own| spec.carries_to(own)),
        _ => false,
    }
}

fn put_one(plan: &Plan, block: &Block, state: &mut BlockState, at: At, (content, front): (Content, i64)) {
    // A function's number means nothing under another plan.
    let own = |slot: Slot| match &slot {
        Slot::Value(Value::Function(of)) if of.scope != block.number => Slot::NoVal,
        _ => slot,
    };
    match (at, content) {
        (At::Cell(cell), Content::Cell(slot)) => {
            if let Some(place) = state.cells.get_mut(cell as usize) {
                *place = own(slot);
            }
        }
        (At::Flag(flag), Content::Flag) => set_flag(state, flag),
        (At::Short { cell, length }, Content::Ring(values)) => {
            let cells = state.cells.iter_mut().skip(cell as usize).take(length as usize);
            for (place, slot) in cells.zip(values) {
                *place = slot;
            }
        }
        (at, content) => {
            if let Some(rest) = state.rest.as_deref_mut() {
                put_out_of_line(plan, block, rest, at, (content, front));
            }
        }
    }
}

fn put_out_of_line(plan: &Plan, block: &Block, rest: &mut super::state::Rest, at: At, (content, front): (Content, i64)) {
    match (at, content) {
        (At::Long { ring, length }, Content::Ring(mut values)) => {
            values.truncate(length as usize);
            if let Some(place) = rest.rings.get_mut(ring as usize) {
                *place = Arc::new(Ring { length, values });
            }
        }
        (At::Window(window), Content::Window(spec, content)) => {
            if let (Some(own), Some(place)) = (block.windows.get(window as usize), rest.windows.get_mut(window as usize)) {
                *place = if *own == spec { content } else { content.carry(&spec, own, front) };
            }
        }
        (At::Text(text), Content::Text(body, refused)) => {
            let (Some(spec), Some(place)) = (block.texts.get(text as usize), rest.texts.get_mut(text as usize)) else { return };
            let body = body.and_then(|(source, contents)| {
                let code = plan.texts.get(text, spec, &source)?;
                let state = put(plan, &code.block, contents, front);
                Some(Arc::new(InForce { code, state }))
            });
            *place = TextState { body, refused };
        }
        _ => {}
    }
}
