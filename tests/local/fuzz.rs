//! The fuzz targets, over their seeds and what becomes of these by small changes: the same in every run.

#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "it is the library of another package, too")]
mod targets;

use fastrand::Rng;
use std::path::{Path, PathBuf};

fn fuzz(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(path)
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(fuzz("seeds").join(target)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// The words of the dictionary: each line is one, in quotes, with `\\`, `\"` and `\xNN` in it.
fn words() -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(fuzz("root.dict")).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| word(line.strip_prefix('"').unwrap().strip_suffix('"').unwrap()))
        .collect()
}

fn word(written: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), written);
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let digits = after.strip_prefix('x').map(|after| after.split_at(2));
        bytes.push(digits.map_or(after.as_bytes()[0], |(digits, _)| u8::from_str_radix(digits, 16).unwrap()));
        rest = digits.map_or(&after[1..], |(_, after)| after);
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

/// Changes bytes in one to four places: some are taken out, doubled, flipped, or replaced by a word or a part of another seed.
fn changed(seed: &[u8], others: &[Vec<u8>], words: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..rng.usize(1..5) {
        let from = rng.usize(..=bytes.len());
        let to = rng.usize(from..=bytes.len().min(from + 20));
        let part = match rng.u8(..6) {
            0 => Vec::new(),
            1 => bytes[from..to].repeat(2),
            2 => bytes[from..to].iter().map(|byte| byte ^ (1 << rng.u8(..8))).collect(),
            3 => {
                let other = rng.choice(others).unwrap();
                let start = rng.usize(..=other.len());
                other[start..other.len().min(start + 30)].to_vec()
            }
            4 => vec![rng.u8(..); to - from],
            _ => rng.choice(words).unwrap().clone(),
        };
        bytes.splice(from..to, part);
    }
    bytes
}

/// Runs a target over its seeds and over so many changes of each: how many seeds, and how many changed ones, it takes.
fn run(target: fn(&[u8]) -> bool, seeds: &[Vec<u8>], changes: u64) -> (usize, usize) {
    let words = words();
    let taken = seeds.iter().filter(|seed| target(seed)).count();
    let mut rng = Rng::with_seed(changes);
    let mut of_changed = 0;
    for seed in seeds {
        for _ in 0..changes {
            let bytes = changed(seed, seeds, &words, &mut rng);
            of_changed += usize::from(std::panic::catch_unwind(|| target(&bytes)).unwrap_or_else(|_| panic!("{}", shown(&bytes))));
        }
    }
    (taken, of_changed)
}

fn shown(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| format!("{bytes:?}"), |text| format!("{text:?}"))
}

#[test]
fn roots_like_those_of_the_documentation_never_panic_and_have_one_layout() {
    let seeds = seeds("root");
    let (taken, of_changed) = run(targets::root, &seeds, 40);
    assert!(taken > seeds.len() / 2 && of_changed > seeds.len() / 2, "{taken} of {}, {of_changed} changed", seeds.len());
}

#[test]
fn texts_like_those_of_the_examples_leave_a_monitor_that_goes_on() {
    let seeds = seeds("text");
    let (taken, of_changed) = run(targets::text, &seeds, 150);
    assert!(taken > seeds.len() / 2 && of_changed > seeds.len() / 2, "{taken} of {}, {of_changed} changed", seeds.len());
}

#[test]
fn snapshots_that_were_changed_are_refused_or_are_a_state() {
    if std::env::var_os("MILLRACE_GENERATE").is_some() {
        for (number, bytes) in targets::snapshots().iter().enumerate() {
            std::fs::write(fuzz("seeds/snapshot").join(number.to_string()), bytes).unwrap();
        }
    }
    let seeds = seeds("snapshot");
    assert_eq!(seeds, targets::snapshots(), "`MILLRACE_GENERATE=1 cargo test --test local fuzz::` writes them anew");
    let (taken, of_changed) = run(targets::snapshot, &seeds, 1000);
    assert!(taken == seeds.len() && of_changed > seeds.len(), "{taken} of {}, {of_changed} changed", seeds.len());
}
