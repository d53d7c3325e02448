//! Likely meant names.
//!
//! Owns: which of the known names is near enough to a mistaken one.
//! May not: know what names mean.

/// Longer names are not compared.
const LONGEST: usize = 32;

/// Words of other languages for ours.
const ELSEWHERE: &[(&str, &str)] = &[
    ("String", "Str"),
    ("string", "Str"),
    ("Text", "Str"),
    ("Boolean", "Bool"),
    ("boolean", "Bool"),
    ("Integer", "Int"),
    ("Long", "Int"),
    ("i64", "Int"),
    ("Double", "Float"),
    ("double", "Float"),
    ("Number", "Float"),
    ("f64", "Float"),
    ("Timestamp", "Time"),
    ("Array", "List"),
    ("Dict", "Map"),
    ("Object", "Struct"),
    ("Record", "Struct"),
    ("average", "mean"),
    ("avg", "mean"),
    ("List.size", "List.len"),
    ("List.length", "List.len"),
    ("Str.length", "Str.len"),
    ("Map.contains", "Map.has_key"),
    ("Map.set", "Map.insert"),
];

/// Names of other languages for what is no name here, and what to write.
const OTHERWISE: &[(&str, &str)] = &[
    ("not", "write `!`"),
    ("TRUE", "write `true`"),
    ("True", "write `true`"),
    ("FALSE", "write `false`"),
    ("False", "write `false`"),
    ("null", ABSENT),
    ("nil", ABSENT),
    ("none", ABSENT),
    ("None", ABSENT),
    ("prev", "`x[1]` is x one tick ago"),
    ("previous", "`x[1]` is x one tick ago"),
    ("lag", "`x[1]` is x one tick ago"),
    ("concat", "texts are joined with `++`, lists with `List.concat`"),
    ("coalesce", "write `default(x, …)`"),
    ("len", "write `Str.len(s)` or `List.len(l)`"),
    ("length", "write `Str.len(s)` or `List.len(l)`"),
    ("now", "a tick knows the time of its record: declare an input of type Time, and bind it to that field or to @arrivalTime"),
];

const ABSENT: &str = "`is_present(x)` and `is_defined(x)` ask whether there is a value, and `default(x, …)` takes the place of none";

/// How to write what another language has a name for.
pub(super) fn otherwise(name: &str) -> Option<&'static str> {
    OTHERWISE.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours)
}

/// The nearest of `known`, where it is near enough to be meant.
pub(super) fn similar<'name>(name: &str, known: impl Iterator<Item = &'name str>) -> Option<&'name str> {
    if let Some((_, ours)) = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name) {
        return known.into_iter().find(|word| word == ours);
    }
    let bound = match name.chars().count() {
        // In a name this short, two letters make another word.
        0..=3 => 1,
        4..=5 => 2,
        6..LONGEST => 3,
        _ => return None,
    };
    let near = known.filter(|word| word.len() < LONGEST && *word != name);
    let near = near.filter_map(|word| distance(name, word, bound).map(|distance| (distance, word)));
    near.filter(|(distance, word)| *distance < word.len()).min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

/// As a hint.
pub(super) fn meant<'name>(name: &str, known: impl Iterator<Item = &'name str>) -> Option<String> {
    similar(name, known).map(|word| format!("did you mean `{word}`?"))
}

/// How many letters to insert, remove, replace or swap with a neighbour, if at most `bound`; the case does not matter.
fn distance(one: &str, other: &str, bound: usize) -> Option<usize> {
    const FAR: usize = usize::MAX / 2;
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len().abs_diff(other.len()) > bound {
        return None;
    }
    let equal = |a: Option<&u8>, b: Option<&u8>| a.zip(b).is_some_and(|(a, b)| a.eq_ignore_ascii_case(b));
    let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(FAR);
    let (mut before, mut last) = (Vec::new(), (0..=other.len()).collect::<Vec<_>>());
    for i in 0..one.len() {
        // Only cells near the diagonal can stay within the bound.
        let mut row = vec![FAR; other.len() + 1];
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for j in i.saturating_sub(bound)..other.len().min(i + bound + 1) {
            let replaced = cell(&last, j) + usize::from(!equal(one.get(i), other.get(j)));
            let mut best = replaced.min(cell(&last, j + 1) + 1).min(cell(&row, j) + 1);
            if i > 0 && j > 0 && equal(one.get(i - 1), other.get(j)) && equal(one.get(i), other.get(j - 1)) {
                best = best.min(cell(&before, j - 1) + 1);
            }
            if let Some(cell) = row.get_mut(j + 1) {
                *cell = best;
            }
        }
        (before, last) = (last, row);
    }
    last.last().copied().filter(|distance| *distance <= bound)
}

#[cfg(test)]
mod tests {
    use super::{distance, similar};

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["temperature", "limit", "x"];
        assert_eq!(similar("temprature", known.into_iter()), Some("temperature"));
        assert_eq!(similar("limti", known.into_iter()), Some("limit"));
        assert_eq!(similar("pressure", known.into_iter()), None);
        assert_eq!(similar("y", known.into_iter()), None);
        assert_eq!(similar("len", ["log", "let"].into_iter()), Some("let"));
        assert_eq!(similar("now", ["cos", "log"].into_iter()), None);
        assert_eq!(similar("String", ["Str", "Int"].into_iter()), Some("Str"));
        assert_eq!(distance("abcd", "acbd", 3), Some(1));
        assert_eq!(distance("kitten", "Sitting", 3), Some(3));
        assert_eq!(distance("kitten", "sitting", 2), None);
    }
}
