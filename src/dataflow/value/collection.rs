//! Lists, tuples, maps, structs, functions.
//!
//! Owns: how they are held and made, with their bounds on size and depth.
//! May not: know where one stands.

use super::{Failure, Limits, MAX_DEPTH, Text, Value};
use std::any::Any;
use std::sync::Arc;

/// The elements of a list or tuple.
pub struct Elements {
    pub(super) items: Box<[Value]>,
    pub(super) size: usize,
    pub(super) depth: u16,
}

/// The entries of a map.
pub struct Table {
    pub(super) entries: Box<[(Text, Value)]>,
    pub(super) size: usize,
    pub(super) depth: u16,
}

/// The names of a struct's fields, rising, each once. Shared by the structs of one origin.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    names: Box<[Arc<str>]>,
}

/// The fields of a struct.
pub struct Structure {
    pub(super) shape: Arc<Shape>,
    pub(super) fields: Box<[Value]>,
    pub(super) size: usize,
    pub(super) depth: u16,
}

/// What a function finds its code by while it lives: the evaluator's own. Never compared, shown or written.
pub type Payload = Arc<dyn Any + Send + Sync>;

/// A function made at run time.
pub struct FunctionValue {
    /// The body's number within its program or text.
    pub body: u32,
    /// Which program or text the number belongs to; what it means is the evaluator's.
    pub scope: u32,
    /// The evaluator's own; none in a function read from bytes.
    pub payload: Option<Payload>,
    pub(super) captures: Box<[Value]>,
    pub(super) size: usize,
    pub(super) depth: u16,
}

/// What lies behind a thin pointer: two counters, a slice, size and depth.
const HEADER: usize = 48;

/// Size and depth of what holds these.
fn measure<'a>(parts: impl Iterator<Item = &'a Value>, own: usize, limits: Limits) -> Result<(usize, u16), Failure> {
    let mut size = own.saturating_add(HEADER);
    let mut depth = 0;
    for part in parts {
        size = size.saturating_add(part.size());
        depth = depth.max(part.depth());
    }
    if size.saturating_add(size_of::<Value>()) > limits.value_bytes {
        return Err(Failure::size(limits));
    }
    if depth >= MAX_DEPTH {
        return Err(Failure::depth());
    }
    Ok((size, depth.saturating_add(1)))
}

impl Value {
    /// A list.
    ///
    /// # Errors
    /// It would be too large or too deep.
    pub fn list(items: Vec<Self>, limits: Limits) -> Result<Self, Failure> {
        Elements::new(items, limits).map(|of| Self::List(Arc::new(of)))
    }

    /// A tuple.
    ///
    /// # Errors
    /// It would be too large or too deep.
    pub fn tuple(items: Vec<Self>, limits: Limits) -> Result<Self, Failure> {
        Elements::new(items, limits).map(|of| Self::Tuple(Arc::new(of)))
    }

    /// A map, of entries in any order; of one key the last counts.
    ///
    /// # Errors
    /// It would be too large or too deep.
    pub fn map(mut entries: Vec<(Text, Self)>, limits: Limits) -> Result<Self, Failure> {
        if !entries.is_sorted_by(|one, next| one.0 < next.0) {
            // Stable: of equal keys the last stays last, and is the one kept.
            entries.sort_by(|one, next| one.0.cmp(&next.0));
            entries.reverse();
            entries.dedup_by(|one, kept| one.0 == kept.0);
            entries.reverse();
        }
        let keys = entries.iter().map(|(key, _)| key.heap().saturating_add(size_of::<Text>())).fold(0, usize::saturating_add);
        let (size, depth) = measure(entries.iter().map(|(_, value)| value), keys, limits)?;
        Ok(Self::Map(Arc::new(Table { entries: entries.into(), size, depth })))
    }

    /// A struct: the values of the shape's names, in their order. What has no name falls away, and a missing one is `()`.
    ///
    /// # Errors
    /// It would be too large or too deep.
    pub fn structure(shape: Arc<Shape>, mut fields: Vec<Self>, limits: Limits) -> Result<Self, Failure> {
        fields.resize(shape.names.len(), Self::Unit);
        let (size, depth) = measure(fields.iter(), 0, limits)?;
        Ok(Self::Struct(Arc::new(Structure { shape, fields: fields.into(), size, depth })))
    }

    /// A function: scope and body, how the evaluator finds them, and what is captured.
    ///
    /// # Errors
    /// What it captures is too large or too deep.
    pub fn function(place: (u32, u32), payload: Option<Payload>, captures: Vec<Self>, limits: Limits) -> Result<Self, Failure> {
        let (size, depth) = measure(captures.iter(), 0, limits)?;
        let (scope, body) = place;
        Ok(Self::Function(Arc::new(FunctionValue { body, scope, payload, captures: captures.into(), size, depth })))
    }
}

impl Elements {
    fn new(items: Vec<Value>, limits: Limits) -> Result<Self, Failure> {
        let (size, depth) = measure(items.iter(), 0, limits)?;
        Ok(Self { items: items.into(), size, depth })
    }

    /// The elements.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        &self.items
    }
}

impl Table {
    /// The entries, keys rising.
    #[must_use]
    pub fn entries(&self) -> &[(Text, Value)] {
        &self.entries
    }

    /// Where a key is, or would be.
    ///
    /// # Errors
    /// Where it would be.
    pub fn find(&self, key: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(own, _)| own.as_str().cmp(key))
    }

    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.find(key).ok().and_then(|at| self.entries.get(at)).map(|(_, value)| value)
    }
}

impl Shape {
    /// Of names in any order, each once (others are dropped).
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = Arc<str>>) -> Arc<Self> {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort();
        names.dedup();
        Arc::new(Self { names: names.into() })
    }

    /// The names, rising.
    #[must_use]
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The place of a name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<usize> {
        self.names.binary_search_by(|own| (**own).cmp(name)).ok()
    }
}

impl Structure {
    /// Its names.
    #[must_use]
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// Its values, in the order of the names.
    #[must_use]
    pub fn fields(&self) -> &[Value] {
        &self.fields
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.shape.index(name).and_then(|at| self.fields.get(at))
    }
}

impl FunctionValue {
    /// What it captured.
    #[must_use]
    pub fn captures(&self) -> &[Value] {
        &self.captures
    }
}
