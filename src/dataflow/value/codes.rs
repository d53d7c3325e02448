//! The codes of failures: why a tick failed.
//!
//! Owns: the list: code, meaning, mend. `MR20..` are of operations on values, `MR21..` of the bounds on one tick. Codes are
//! never reused.
//! May not: know where a failure stands.

use crate::error::codes;

codes! {
    DIVISION_BY_ZERO = 2001, "DivisionByZero", "An Int was divided by zero.", "Guard it: `if n == 0 then 0 else total / n`.";
    OVERFLOW = 2002, "Overflow", "A result does not fit into its type.", "Compute in Float, or bound the operands with `min` and `max`.";
    NEGATIVE_EXPONENT = 2003, "NegativeExponent", "An Int was raised to a negative Int.", "Write the base as a Float: `2.0 ** n`.";
    KIND = 2004, "Kind", "An operand has a kind that the operation does not take.", "Declare the type of the input it comes from, so that other values are refused there.";
    NO_ORDER = 2005, "NoOrder", "Two values that have no order were ordered.", "Order numbers with numbers, and Bool, Str, Time and Duration each with their own kind.";
    NO_INT = 2006, "NoInt", "No Int is near a Float: it is too large, infinite or NaN.", "Guard it: `if abs(x) < 1e18 then round(x) else 0`.";
    OUT_OF_RANGE = 2007, "OutOfRange", "A list has no element at this place.", "Give a fallback: `List.get(l, i, d)`; guard `List.head` and `List.tail` with `List.len(l) > 0`.";
    MISSING_KEY = 2008, "MissingKey", "A map has no such key.", "Give a fallback: `Map.get(m, k, d)`.";
    MISSING_FIELD = 2009, "MissingField", "A struct has no such field, or a tuple no such place.", "Declare the struct's type, so that records without the field are refused.";
    UNREADABLE = 2010, "Unreadable", "A text could not be read as what was wanted.", "Guard it with `Str.matches`.";
    FUNCTION_COMPARED = 2011, "FunctionCompared", "A function was compared.", "Compare its results.";
    FUNCTION_PLACE = 2012, "FunctionPlace", "A function that a type `Any` hid would leave, be delayed or stand in a collection.", "Call it, and use its result.";

    VALUE_SIZE = 2101, "ValueSize", "A value would be larger than is allowed.", "Keep less: cut lists with `List.tail`, or use a window; the bound is a setting.";
    VALUE_DEPTH = 2102, "ValueDepth", "A value would be nested too deeply.", "Keep the parts in a list instead of in each other.";
    STEPS = 2103, "Steps", "A tick took more steps than are allowed.", "Look for a recursion that does not end; the bound is a setting.";
    RECURSION = 2104, "Recursion", "Calls nested too deeply.", "Let the recursion end earlier, or use `List.fold`; the bound is a setting.";
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn a_code_is_known_by_its_number() {
        assert_eq!(Code::KIND.to_string(), "MR2004");
        assert_eq!(Code::of(2004), Some(Code::KIND));
        assert_eq!(Code::of(2000), None);
    }
}
