//! What a block keeps from tick to tick.
//!
//! Owns: cells in one slice, and out of line what grows: long rings, windows, bodies of texts.
//! May not: know what any of it means; the plan does.
//!
//! A clone shares rings, windows and bodies, and copies the cells: a capture of a key costs one small allocation, and what
//! is shared is copied when its key next ticks (copy on write).

use crate::dataflow::plan::TextCode;
use crate::dataflow::plan::block::Block;
use crate::dataflow::slot::Slot;
use crate::dataflow::value::{Text, Value};
use crate::dataflow::window::Window;
use std::collections::VecDeque;
use std::sync::Arc;

/// The state of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockState {
    pub(crate) cells: Box<[Slot]>,
    pub(crate) rest: Option<Box<Rest>>,
}

/// What stands out of line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rest {
    pub(crate) rings: Box<[Arc<Ring>]>,
    pub(crate) windows: Box<[Window]>,
    pub(crate) texts: Box<[TextState]>,
}

/// A long delay: what was stored, the newest first; what is not there yet is Deferred.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    pub(crate) length: u32,
    pub(crate) values: VecDeque<Slot>,
}

/// What a `dynamic` or `defer` keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextState {
    pub(crate) body: Option<Arc<InForce>>,
    /// The text that came last and was refused.
    pub(crate) refused: Option<Text>,
}

/// A text in force.
#[derive(Clone, Debug)]
pub(crate) struct InForce {
    pub(crate) code: Arc<TextCode>,
    pub(crate) state: BlockState,
}

impl BlockState {
    /// The state of a block that has seen nothing.
    pub(crate) fn new(block: &Block) -> Self {
        let plain = block.rings.is_empty() && block.windows.is_empty() && block.texts.is_empty();
        let ring = |length: &u32| Arc::new(Ring { length: *length, values: VecDeque::new() });
        let rest = || Rest {
            rings: block.rings.iter().map(ring).collect(),
            windows: block.windows.iter().map(|_| Window::default()).collect(),
            texts: block.texts.iter().map(|_| TextState::default()).collect(),
        };
        Self { cells: block.initial.clone(), rest: (!plain).then(|| Box::new(rest())) }
    }

    /// The bytes it takes behind its own; what is shared with a clone counts in both.
    pub(crate) fn memory(&self) -> usize {
        let heavy = |slot: &Slot| slot.value().map_or(0, |value| value.size().saturating_sub(size_of::<Value>()));
        let slots = |slots: &mut dyn Iterator<Item = &Slot>| slots.map(|slot| heavy(slot) + size_of::<Slot>()).sum::<usize>();
        let rest = self.rest.as_deref().map_or(0, |rest| {
            let rings = rest.rings.iter().map(|ring| {
                let spare = ring.values.capacity().saturating_sub(ring.values.len());
                size_of::<Arc<Ring>>() + size_of::<Ring>() + 16 + spare * size_of::<Slot>() + slots(&mut ring.values.iter())
            });
            let windows = rest.windows.iter().map(|window| size_of::<Window>() + window.memory());
            let texts = rest.texts.iter().map(|text| {
                let refused = text.refused.as_ref().map_or(0, |text| text.as_str().len());
                let body = text.body.as_deref().map_or(0, |body| size_of::<InForce>() + 16 + body.state.memory());
                size_of::<TextState>() + refused + body
            });
            size_of::<Rest>() + rings.sum::<usize>() + windows.sum::<usize>() + texts.sum::<usize>()
        });
        slots(&mut self.cells.iter()) + rest
    }
}
