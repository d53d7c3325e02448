//! Shapes of structs whose names are known only from the record.
//!
//! Owns: a few shapes that were seen lately, so that structs of one producer share theirs.
//! May not: grow.

use crate::dataflow::value::{Shape, Text, Value};
use std::sync::Arc;

/// How many shapes are remembered.
const REMEMBERED: usize = 32;

/// Shapes that were seen lately.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    seen: Vec<Arc<Shape>>,
    /// The place of the one that is forgotten next.
    oldest: usize,
}

impl Shapes {
    /// The shape of these names, which rise and stand once each.
    pub(super) fn of(&mut self, members: &[(Text, Value)]) -> Arc<Shape> {
        let same = |shape: &&Arc<Shape>| {
            let names = shape.names();
            names.len() == members.len() && names.iter().zip(members).all(|(name, (own, _))| **name == *own.as_str())
        };
        if let Some(shape) = self.seen.iter().find(same) {
            return Arc::clone(shape);
        }
        let shape = Shape::new(members.iter().map(|(name, _)| Arc::from(name.as_str())));
        match self.seen.get_mut(self.oldest) {
            Some(place) => *place = Arc::clone(&shape),
            None => self.seen.push(Arc::clone(&shape)),
        }
        self.oldest = (self.oldest + 1) % REMEMBERED;
        shape
    }
}

#[cfg(test)]
mod tests {
    use super::{REMEMBERED, Shapes};
    use crate::dataflow::value::Value;
    use std::sync::Arc;

    #[test]
    fn equal_names_share_a_shape_until_it_is_forgotten() {
        let mut shapes = Shapes::default();
        let first = shapes.of(&[("a".into(), Value::Unit), ("b".into(), Value::Unit)]);
        let again = shapes.of(&[("a".into(), Value::Int(1)), ("b".into(), Value::Unit)]);
        assert!(Arc::ptr_eq(&first, &again));
        for n in 0..REMEMBERED {
            assert_eq!(shapes.of(&[(n.to_string().into(), Value::Unit)]).names().len(), 1);
        }
        assert_eq!(shapes.seen.len(), REMEMBERED);
        let anew = shapes.of(&[("a".into(), Value::Unit), ("b".into(), Value::Unit)]);
        assert!(first == anew && !Arc::ptr_eq(&first, &anew));
    }
}
