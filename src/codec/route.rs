//! Bindings, held against a root and made into what is walked.
//!
//! Owns: what each input, the key and the time are read from, for records of each stream.
//! May not: read records.

use super::error::BindingError;
use super::pointer::{self, Binding, Datum, Place};
use super::tree::{Bound, Places, Target, Tree};
use super::wanted::Wanted;
use super::{Bindings, KeyRule};
use crate::lang::checked::{Checked, Equation};
use crate::lang::types::Type;
use std::sync::Arc;

/// The name of a pipeline's only stream.
const MAIN: &str = "main";

/// How records of one stream are read.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) stream: String,
    /// The bound fields; none where nothing of the payload's fields is read.
    pub(super) tree: Option<Tree>,
    /// The inputs that are bound to record data.
    pub(super) data: Vec<Known>,
    /// Whether the payload as text is wanted.
    pub(super) text: bool,
    /// The record data that gives the record time, where some does.
    pub(super) time: Option<Datum>,
    /// The pointer to the record time, where a field gives it.
    pub(super) time_pointer: Option<String>,
}

/// An input that is bound to record data.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) slot: usize,
    pub(super) input: Arc<str>,
    pub(super) datum: Datum,
    /// Whether the input is an `Int`.
    pub(super) int: bool,
}

/// An input of the root, with its binding.
struct Input<'r> {
    slot: usize,
    name: &'r Arc<str>,
    ty: &'r Type,
    binding: Binding,
}

/// The pointer that keys records, where a field does.
pub(super) fn key(rule: &KeyRule, limit: u16) -> Result<Option<Vec<String>>, BindingError> {
    let KeyRule::Field(text) = rule else { return Ok(None) };
    let form = |why| BindingError::Form { place: "keyBy.field".to_owned(), binding: text.clone(), why };
    let tokens = pointer::pointer(text).map_err(form)?;
    if tokens.is_empty() {
        return Err(form("the whole payload keys nothing: name a field, such as /device/id"));
    }
    shallow(&tokens, limit).map_err(form)?;
    Ok(Some(tokens))
}

/// How records are read: a route for each stream.
pub(super) fn routes(root: &Checked, bindings: &Bindings<'_>) -> Result<Vec<Route>, BindingError> {
    let streams = if bindings.streams.is_empty() { vec![MAIN.to_owned()] } else { bindings.streams.clone() };
    let inputs = inputs(root, bindings, &streams)?;
    let key = key(&bindings.key, bindings.limits.depth)?;
    let time = bindings.time.map(|text| time(text, bindings, &streams)).transpose()?;
    let mut routes = Vec::new();
    for stream in streams {
        let from = |binding: &Binding| binding.stream.as_ref().is_none_or(|own| *own == stream);
        let mut route = Route { stream: stream.clone(), tree: None, data: Vec::new(), text: false, time: None, time_pointer: None };
        let mut places = Places::new();
        for input in inputs.iter().filter(|input| from(&input.binding)) {
            route.bind(input, &mut places)?;
        }
        places.extend(key.iter().map(|tokens| (tokens.clone(), Target::Key)));
        match time.as_ref().filter(|binding| from(binding)).map(|binding| &binding.place) {
            Some(Place::Field(tokens)) => {
                route.time_pointer = Some(pointer::text(tokens));
                places.push((tokens.clone(), Target::Time));
            }
            Some(Place::Datum(datum)) => {
                route.time = Some(*datum);
                route.text |= *datum == Datum::Data;
            }
            None => {}
        }
        route.tree = if places.is_empty() { None } else { Some(Tree::new(places)) };
        routes.push(route);
    }
    Ok(routes)
}

/// The inputs in the order of the plan's rows.
fn inputs<'r>(root: &'r Checked, bindings: &Bindings<'_>, streams: &[String]) -> Result<Vec<Input<'r>>, BindingError> {
    let declared: Vec<_> = root.streams.iter().filter(|stream| stream.equation == Equation::Input).collect();
    if let Some(input) = bindings.inputs.keys().find(|name| !declared.iter().any(|stream| *stream.name == **name)) {
        let inputs = declared.iter().map(|stream| stream.name.to_string()).collect();
        return Err(BindingError::Input { input: input.clone(), inputs });
    }
    let one = |(slot, stream): (usize, &&'r crate::lang::checked::Stream)| {
        let binding = match bindings.inputs.get(&*stream.name) {
            Some(text) => read(text, &format!("input {}", stream.name), bindings, streams)?,
            None => Binding { stream: None, place: Place::Field(vec![stream.name.to_string()]) },
        };
        Ok(Input { slot, name: &stream.name, ty: &stream.ty, binding })
    };
    declared.iter().enumerate().map(one).collect()
}

/// A binding whose stream is one that is read, and whose pointer can lead somewhere.
fn read(text: &str, place: &str, bindings: &Bindings<'_>, streams: &[String]) -> Result<Binding, BindingError> {
    let form = |why| BindingError::Form { place: place.to_owned(), binding: text.to_owned(), why };
    let binding = pointer::binding(text).map_err(form)?;
    if let Some(stream) = binding.stream.as_ref().filter(|stream| !streams.contains(stream)) {
        return Err(BindingError::Stream { place: place.to_owned(), stream: stream.clone(), streams: streams.to_vec() });
    }
    if let Place::Field(tokens) = &binding.place {
        shallow(tokens, bindings.limits.depth).map_err(form)?;
    }
    Ok(binding)
}

fn time(text: &str, bindings: &Bindings<'_>, streams: &[String]) -> Result<Binding, BindingError> {
    let binding = read(text, "root.time", bindings, streams)?;
    match &binding.place {
        Place::Datum(datum @ (Datum::SequenceNumber | Datum::Shard)) => Err(clash("root.time", *datum, &Type::Time)),
        _ => Ok(binding),
    }
}

/// Holds that a payload can be as deep as a pointer.
fn shallow(tokens: &[String], limit: u16) -> Result<(), &'static str> {
    if tokens.len() > usize::from(limit) { Err("it leads deeper than a payload may nest") } else { Ok(()) }
}

fn clash(place: &str, datum: Datum, ty: &Type) -> BindingError {
    BindingError::Clash { place: place.to_owned(), binding: datum.name().to_owned(), is: datum.is(), ty: ty.to_string() }
}

impl Route {
    fn bind(&mut self, input: &Input<'_>, places: &mut Places) -> Result<(), BindingError> {
        let function = || BindingError::Function { input: input.name.to_string(), ty: input.ty.to_string() };
        let wanted = Wanted::of(input.ty).ok_or_else(function)?;
        match &input.binding.place {
            Place::Field(tokens) => {
                let pointer = pointer::text(tokens);
                let bound = Bound { slot: input.slot, input: Arc::clone(input.name), wanted, pointer };
                places.push((tokens.clone(), Target::Cell(bound)));
            }
            Place::Datum(datum) => {
                let fits = match datum {
                    Datum::ArrivalTime => matches!(wanted, Wanted::Time | Wanted::Any),
                    Datum::SequenceNumber => matches!(wanted, Wanted::Str | Wanted::Int | Wanted::Any),
                    Datum::PartitionKey | Datum::Shard | Datum::Data => matches!(wanted, Wanted::Str | Wanted::Any),
                };
                if !fits {
                    return Err(clash(&format!("input {}", input.name), *datum, input.ty));
                }
                self.text |= *datum == Datum::Data;
                let int = matches!(wanted, Wanted::Int);
                self.data.push(Known { slot: input.slot, input: Arc::clone(input.name), datum: *datum, int });
            }
        }
        Ok(())
    }
}
