//! The golden vectors: what must check, and what must not.

use serde_json::Value;
use std::fs;

/// Cases where language.md and a vector disagree; the page wins.
const AGAINST_THE_PAGE: &[(&str, &str)] = &[
    // It has a stream named `over`, and the page says that no stream may have that name.
    ("mixed_types_sampled", "MR1011"),
];

fn cases(file: &std::path::Path) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn every_vector_is_accepted_or_refused_as_it_says() {
    let (mut accepted, mut refused) = (0, 0);
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        for case in cases(&path) {
            let (name, program) = (case["name"].as_str().unwrap(), case["program"].as_str().unwrap());
            let result = crate::lang::check(program);
            if let Some((_, code)) = AGAINST_THE_PAGE.iter().find(|(known, _)| *known == name) {
                assert_eq!(result.unwrap_err().reports()[0].code, *code, "{name}");
                assert!(crate::lang::check(&program.replace("over", "above")).is_ok(), "{name}");
                refused += 1;
            } else if case["rejected"] == true {
                let class = case["because"].as_str().unwrap();
                let codes: Vec<String> = result.expect_err(name).reports().into_iter().map(|report| report.code).collect();
                assert_eq!(codes.len(), 1, "{name}: {codes:?}");
                let wanted: &[&str] = match class {
                    "same-tick cycle" => &["MR1109"],
                    "unknown name" => &["MR1106"],
                    "no equation" => &["MR1104"],
                    "two equations" => &["MR1105"],
                    "type clash" => &["MR1201"],
                    "delay" => &["MR1301", "MR1304"],
                    "syntax" => &["MR1007", "MR1008"],
                    other => panic!("{name}: {other}"),
                };
                assert!(wanted.contains(&codes[0].as_str()), "{name}: {codes:?}");
                refused += 1;
            } else {
                let errors = result.err().map(|errors| errors.render(name));
                assert!(errors.is_none(), "{}", errors.unwrap());
                let laid_out = crate::lang::format(program).unwrap();
                assert_eq!(crate::lang::format(&laid_out).unwrap(), laid_out, "{name}");
                accepted += 1;
            }
        }
    }
    assert_eq!((accepted, refused), (204, 30));
}

/// Texts that arrive at run time in the vectors.
#[test]
fn texts_of_the_vectors_check_as_their_outputs_say() {
    use crate::lang::checked::{Equation, Op};
    let bad = ["x +", "x + )"];
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/");
    let mut texts = 0;
    for case in cases(&std::path::Path::new(directory).join("dynamic.json")) {
        let checked = super::checked(case["program"].as_str().unwrap());
        for stream in &checked.streams {
            let Equation::Body(body) = stream.equation else { continue };
            for node in &checked.body(body).unwrap().nodes {
                let Op::Text { source, scope, .. } = &node.op else { continue };
                let scope: Vec<_> =
                    scope.iter().map(|id| checked.stream(*id).unwrap()).map(|one| (one.name.clone(), one.ty.clone())).collect();
                let source = &checked.body(body).unwrap().nodes[source.0 as usize];
                let Op::Stream(source) = source.op else { continue };
                for tick in case["inputs"].as_array().unwrap() {
                    let Some(text) = tick[&*checked.stream(source).unwrap().name].as_str() else { continue };
                    let result = crate::lang::check_expression(text, &scope, Some(&node.ty));
                    assert_eq!(result.is_err(), bad.contains(&text), "{text}: {result:?}");
                    texts += 1;
                }
            }
        }
    }
    assert!(texts > 50);
}
