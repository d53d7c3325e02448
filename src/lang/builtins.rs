//! The built-in functions and aggregates.
//!
//! Owns: their names, their numbers of arguments, and the types of those whose types are fixed.
//! May not: know programs. What each computes is said in language.md.

use super::types::Type;

/// A function of values: strict, without state, except where its last argument is a fallback (`List.get`, `Map.get`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the built-in of its name")]
pub enum Function {
    Abs,
    Trunc,
    Floor,
    Ceil,
    Round,
    Sqrt,
    Log,
    Exp,
    Sin,
    Cos,
    Tan,
    Min,
    Max,
    IntParse,
    FloatParse,
    StrOf,
    StrLen,
    StrLower,
    StrUpper,
    StrContains,
    StrStartsWith,
    StrEndsWith,
    StrSplit,
    StrSlice,
    TimeParse,
    TimeOfMillis,
    TimeMillis,
    DurationSeconds,
    ListGet,
    ListConcat,
    ListAppend,
    ListHead,
    ListTail,
    ListLen,
    MapGet,
    MapInsert,
    MapRemove,
    MapHasKey,
    MapKeys,
}

/// What a window computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the aggregate of its name")]
pub enum Aggregate {
    Count,
    Sum,
    Mean,
    Min,
    Max,
    Stddev,
    First,
    Last,
    Distinct,
}

/// A built-in as the parser knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the built-in of its name")]
pub enum Builtin {
    Function(Function),
    Default,
    Init,
    IsDefined,
    IsPresent,
    When,
    Update,
    Latch,
    Changed,
    Fix,
    ListMap,
    ListFilter,
    ListFold,
    Matches,
}

/// One line of the table: name, fewest and most arguments.
struct Row(&'static str, u8, u8, Builtin);

const fn function(name: &'static str, arguments: u8, function: Function) -> Row {
    Row(name, arguments, arguments, Builtin::Function(function))
}

const ROWS: &[Row] = &[
    Row("default", 2, 2, Builtin::Default),
    Row("init", 2, 2, Builtin::Init),
    Row("is_defined", 1, 1, Builtin::IsDefined),
    Row("is_present", 1, 1, Builtin::IsPresent),
    Row("when", 1, 1, Builtin::When),
    Row("update", 2, 2, Builtin::Update),
    Row("latch", 2, 2, Builtin::Latch),
    Row("changed", 1, 1, Builtin::Changed),
    Row("fix", 1, 1, Builtin::Fix),
    function("abs", 1, Function::Abs),
    function("trunc", 1, Function::Trunc),
    function("floor", 1, Function::Floor),
    function("ceil", 1, Function::Ceil),
    function("round", 1, Function::Round),
    function("sqrt", 1, Function::Sqrt),
    function("log", 1, Function::Log),
    function("exp", 1, Function::Exp),
    function("sin", 1, Function::Sin),
    function("cos", 1, Function::Cos),
    function("tan", 1, Function::Tan),
    function("min", 2, Function::Min),
    function("max", 2, Function::Max),
    function("Int.parse", 1, Function::IntParse),
    function("Float.parse", 1, Function::FloatParse),
    function("Str.of", 1, Function::StrOf),
    function("Str.len", 1, Function::StrLen),
    function("Str.lower", 1, Function::StrLower),
    function("Str.upper", 1, Function::StrUpper),
    function("Str.contains", 2, Function::StrContains),
    function("Str.starts_with", 2, Function::StrStartsWith),
    function("Str.ends_with", 2, Function::StrEndsWith),
    function("Str.split", 2, Function::StrSplit),
    function("Str.slice", 3, Function::StrSlice),
    Row("Str.matches", 2, 2, Builtin::Matches),
    function("Time.parse", 1, Function::TimeParse),
    function("Time.of_millis", 1, Function::TimeOfMillis),
    function("Time.millis", 1, Function::TimeMillis),
    function("Duration.seconds", 1, Function::DurationSeconds),
    Row("List.get", 2, 3, Builtin::Function(Function::ListGet)),
    function("List.concat", 2, Function::ListConcat),
    function("List.append", 2, Function::ListAppend),
    function("List.head", 1, Function::ListHead),
    function("List.tail", 1, Function::ListTail),
    function("List.len", 1, Function::ListLen),
    Row("List.map", 2, 2, Builtin::ListMap),
    Row("List.filter", 2, 2, Builtin::ListFilter),
    Row("List.fold", 3, 3, Builtin::ListFold),
    Row("Map.get", 2, 3, Builtin::Function(Function::MapGet)),
    function("Map.insert", 3, Function::MapInsert),
    function("Map.remove", 2, Function::MapRemove),
    function("Map.has_key", 2, Function::MapHasKey),
    function("Map.keys", 1, Function::MapKeys),
];

const AGGREGATES: &[(&str, Aggregate)] = &[
    ("count", Aggregate::Count),
    ("sum", Aggregate::Sum),
    ("mean", Aggregate::Mean),
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
    ("stddev", Aggregate::Stddev),
    ("first", Aggregate::First),
    ("last", Aggregate::Last),
    ("distinct", Aggregate::Distinct),
];

/// Words that are followed by `(` and are neither functions nor aggregates.
pub(super) const FORMS: &[&str] = &["dynamic", "eval", "defer", "Map", "Tuple"];

/// The types that are written with one word; `List`, `Map` and `Struct` need more.
const SIMPLE: &[(&str, Type)] = &[
    ("Any", Type::Any),
    ("Unit", Type::Unit),
    ("Bool", Type::Bool),
    ("Int", Type::Int),
    ("Float", Type::Float),
    ("Str", Type::Str),
    ("Time", Type::Time),
    ("Duration", Type::Duration),
];

/// The type of this one word.
pub(super) fn simple_type(name: &str) -> Option<Type> {
    SIMPLE.iter().find(|(word, _)| *word == name).map(|(_, ty)| ty.clone())
}

/// All names of types.
pub(super) fn type_names() -> impl Iterator<Item = &'static str> {
    SIMPLE.iter().map(|(word, _)| *word).chain(["List", "Map", "Struct"])
}

/// Whether built-ins stand behind this name and a point.
pub(super) fn is_family(name: &str) -> bool {
    families().any(|family| family == name)
}

fn families() -> impl Iterator<Item = &'static str> {
    ROWS.iter().filter_map(|row| row.0.split_once('.')).map(|(family, _)| family)
}

/// The names of all built-in functions, `List.get` among them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.0)
}

/// The names of all words that are followed by `(`.
pub(super) fn call_words() -> impl Iterator<Item = &'static str> {
    let plain = names().filter(|name| !name.contains('.'));
    plain.chain(AGGREGATES.iter().map(|(name, _)| *name)).chain(FORMS.iter().copied())
}

/// The names of all aggregates, as a hint lists them.
pub(super) fn aggregates() -> String {
    let names: Vec<_> = AGGREGATES.iter().map(|(name, _)| *name).collect();
    format!("`{}`", names.join(" "))
}

impl Builtin {
    /// The built-in of this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.0 == name).map(|row| row.3)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS.iter().find(|row| row.3 == self).map_or("", |row| row.0)
    }

    /// How few and how many arguments it takes.
    pub(super) fn arity(self) -> (usize, usize) {
        ROWS.iter().find(|row| row.3 == self).map_or((0, 0), |row| (usize::from(row.1), usize::from(row.2)))
    }
}

impl Aggregate {
    /// The aggregate of this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        AGGREGATES.iter().find(|(word, _)| *word == name).map(|(_, aggregate)| *aggregate)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        AGGREGATES.iter().find(|(_, aggregate)| *aggregate == self).map_or("", |(word, _)| *word)
    }
}

impl Function {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Builtin::Function(self).name()
    }

    /// The types of the arguments and of the result, where they are always the same.
    pub(super) fn signature(self) -> Option<(&'static [Type], Type)> {
        const STR: &[Type] = &[Type::Str];
        const STRS: &[Type] = &[Type::Str, Type::Str];
        const NUMBER: &[Type] = &[Type::Float];
        Some(match self {
            Self::Sqrt | Self::Log | Self::Exp | Self::Sin | Self::Cos | Self::Tan => (NUMBER, Type::Float),
            Self::IntParse | Self::StrLen => (STR, Type::Int),
            Self::FloatParse => (STR, Type::Float),
            Self::StrLower | Self::StrUpper => (STR, Type::Str),
            Self::StrContains | Self::StrStartsWith | Self::StrEndsWith => (STRS, Type::Bool),
            Self::StrSplit => (STRS, Type::list(Type::Str)),
            Self::StrSlice => (&[Type::Str, Type::Int, Type::Int], Type::Str),
            Self::TimeParse => (STR, Type::Time),
            Self::TimeOfMillis => (&[Type::Int], Type::Time),
            Self::TimeMillis => (&[Type::Time], Type::Int),
            Self::DurationSeconds => (&[Type::Duration], Type::Float),
            _ => return None,
        })
    }
}
