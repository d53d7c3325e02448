//! The examples of `docs/language.md`.

use crate::lang::{check, format};

#[test]
fn every_example_of_the_page_does_what_it_says() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/language.md")).unwrap();
    let (mut fine, mut failing) = (0, 0);
    for (at, block) in page.split("```dsrv").enumerate().skip(1) {
        let (info, rest) = block.split_once('\n').unwrap();
        let program = rest.split("```").next().unwrap();
        if let Some(code) = info.strip_prefix(",fails ") {
            let reports = check(program).map(|_| ()).expect_err(program).reports();
            assert!(reports.iter().all(|report| report.code == code), "block {at}: {reports:?}");
            failing += 1;
            continue;
        }
        assert_eq!(info, "", "block {at}");
        let errors = check(program).err().map(|errors| errors.render("language.md"));
        assert!(errors.is_none(), "block {at}\n{}", errors.unwrap_or_default());
        let laid_out = format(program).unwrap();
        assert_eq!(format(&laid_out).unwrap(), laid_out);
        fine += 1;
    }
    assert!(fine > 20 && failing > 10, "{fine} {failing}");
}

#[test]
fn every_builtin_stands_on_the_page() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/language.md")).unwrap();
    for word in crate::lang::builtins::names().chain(crate::lang::builtins::call_words()) {
        assert!(page.contains(&format!("{word}(")), "{word}");
    }
}
