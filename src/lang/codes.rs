//! The codes of program errors.
//!
//! Owns: the list: code, meaning, mend. `MR10..` are of the text, `MR11..` of names, `MR12..` of types, `MR13..` of constants
//! and state, `MR19..` warnings. Codes are never reused.
//! May not: know where an error stands.

use crate::error::codes;

codes! {
    UNKNOWN_CHARACTER = 1001, "UnknownCharacter", "A character stands where the language has no use for it.", "Remove it; texts stand in double quotes.";
    OPEN_TEXT = 1002, "OpenText", "A text has no closing quote on its line.", "Close it with `\"`; a new line inside a text is written `\\n`.";
    BAD_ESCAPE = 1003, "BadEscape", "A text holds an escape or a control character that JSON does not allow.", "Use one of `\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX`.";
    OPEN_COMMENT = 1004, "OpenComment", "A comment `(*` is not closed.", "Close it with `*)`; such comments nest.";
    BAD_NUMBER = 1005, "BadNumber", "Something that begins with a digit is neither a number nor a Duration.", "Write a number such as `12`, `1.5` or `1e3`, or a Duration such as `1h30m`, its units falling, each once.";
    NUMBER_RANGE = 1006, "NumberRange", "A number or Duration is larger than its type can hold.", "Write a smaller one: Int and Duration have 64 bits.";
    SYNTAX = 1007, "Syntax", "The text does not go on as the grammar wants.", "Mend the place that the message names.";
    OPEN_BRACKET = 1008, "OpenBracket", "A bracket is not closed, or was never opened.", "Close what was opened, in order.";
    TOO_DEEP = 1009, "TooDeep", "Something is nested too deeply.", "Give a part of it a name of its own, with `aux`.";
    TOO_LONG = 1010, "TooLong", "A text is too long, or has too many streams.", "Split the root, or shorten it.";
    RESERVED = 1011, "Reserved", "A name is a word of the language or a type.", "Choose another name.";
    WINDOW_PLACE = 1012, "WindowPlace", "`over` stands outside an aggregate, or an aggregate has no `over`.", "Write `sum(x over 5m)`, `sum(x over last 100)` or `sum(x over 1h by 10s)`.";
    ARITY = 1013, "Arity", "A built-in, tuple or call has the wrong number of arguments.", "Give it as many as the message says.";

    DECLARED_TWICE = 1101, "DeclaredTwice", "A stream is declared twice.", "Remove or rename one of them.";
    INPUT_WITH_EQUATION = 1102, "InputWithEquation", "An input has an equation.", "Declare it `aux` or `out`, or remove the equation.";
    NOT_DECLARED = 1103, "NotDeclared", "An equation has no declaration.", "Declare the stream with `out` or `aux`.";
    NO_EQUATION = 1104, "NoEquation", "A computed stream has no equation.", "Give it one: `y = …`; what comes from the record is declared `in`.";
    TWO_EQUATIONS = 1105, "TwoEquations", "A computed stream has two equations.", "Remove one of them.";
    UNKNOWN_NAME = 1106, "UnknownName", "A name is neither a stream nor a parameter.", "Declare it, or mend its spelling.";
    UNKNOWN_TYPE = 1107, "UnknownType", "There is no such type.", "Use one of `Int Float Str Bool Unit Time Duration Any List<T> Map<T> Struct<f: T>`, a tuple or a function.";
    NAME_TWICE = 1108, "NameTwice", "A list holds one name twice.", "Remove or rename one of them.";
    CYCLE = 1109, "Cycle", "Streams need each other's values in one tick.", "Delay one of the edges: `x[1]`, mostly as `default(x[1], …)`.";
    UNKNOWN_BUILTIN = 1110, "UnknownBuiltin", "There is no such built-in, or it is not called.", "Mend its spelling; a built-in is always called: `\\x -> List.len(x)`.";
    OWN_TEXT = 1111, "OwnText", "A `dynamic` or `defer` lists the stream it computes, or a function.", "Remove it from the list; its past is reached through an `aux` stream such as `aux past = y[1]`.";

    CLASH = 1201, "Clash", "Two types clash.", "Change one side; only Int becomes Float by itself.";
    NO_FIELD = 1202, "NoField", "A struct has no such field, or a tuple no such place.", "Mend the name, or declare the field.";
    NOT_A_FUNCTION = 1203, "NotAFunction", "What is called is no function, or has too many arguments.", "Remove the arguments that are too many.";
    FUNCTION_PLACE = 1204, "FunctionPlace", "A function is compared, delayed, collected, taken in or put out.", "Call it, and use its result.";
    TYPE_SIZE = 1205, "TypeSize", "A type is too large.", "Use `Any` for a part of it.";
    EXPANSION = 1206, "Expansion", "Calls of functions expand to too much, or without end.", "Use `fix` for recursion, and streams for what is needed often.";

    DELAY = 1301, "Delay", "A delay is no constant from 0 up, or too long.", "Write `x[1]`: the number is fixed, as the memory it needs.";
    PATTERN = 1302, "Pattern", "The regular expression of `Str.matches` is no constant, or not valid.", "Write it as a text; a backslash is doubled: `\"^\\\\d+$\"`.";
    WINDOW = 1303, "Window", "A window is empty, or is no whole number of panes.", "Use a span above zero that the pane divides.";
    STATE_IN_FUNCTION = 1304, "StateInFunction", "A function that is only known when it runs holds a delay, a window or other state.", "Compute it in an `aux` stream; only functions that are called by name may hold state.";
    TEXT_IN_TEXT = 1305, "TextInText", "A text for `dynamic` or `defer` holds a `dynamic` or `defer`.", "Put it into the root.";

    UNUSED = 1901, "Unused", "An `aux` stream is read by nothing.", "Remove it, or declare it `out`.";
    STUCK = 1902, "Stuck", "A stream needs its own past before it has one, so it never has a value.", "Give it a first value: `default(y[1], …)`.";
}

#[cfg(test)]
mod tests {
    use super::Code;
    use crate::error::Whose;

    #[test]
    fn a_code_is_explained_and_is_the_users() {
        assert_eq!(Code::CYCLE.to_string(), "MR1109");
        assert_eq!(Code::CYCLE.entry().map(|entry| (entry.reason, entry.whose)), Some(("Cycle", Whose::User)));
    }
}
