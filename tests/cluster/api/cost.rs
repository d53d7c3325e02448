//! What the rules of the definitions may cost, as the API server estimates it.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A tenth of what the API server allows, so that there is room for rules to come.
const SHARE: u64 = 10;

#[test]
fn rules_cost_under_a_tenth_of_their_limits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Command::new(root.join("tests/bed/build")).arg("cel-cost").output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let folder = String::from_utf8(built.stdout).unwrap();
    let files = ["streampipelines", "streamworkers", "streamsplits", "streamledgers"].map(|kind| root.join(format!("crds/{kind}.yaml")));
    let output = Command::new(Path::new(folder.trim()).join("cel-cost")).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let limit = |name: &str| report["limits"][name].as_u64().unwrap() / SHARE;
    let crds = report["crds"].as_array().unwrap();
    assert_eq!(crds.len(), 4);
    for crd in crds {
        let name = &crd["name"];
        assert_eq!(crd["errors"].as_array().map(Vec::len), Some(0), "{name}: {}", crd["errors"]);
        assert!(crd["total"].as_u64().unwrap() < limit("crd"), "{name}: {}", crd["total"]);
        for rule in crd["rules"].as_array().unwrap() {
            assert!(rule["cost"].as_u64().unwrap() < limit("rule"), "{name}: {rule}");
        }
    }
    let rules: usize = crds.iter().map(|crd| crd["rules"].as_array().unwrap().len()).sum();
    assert!(rules > 40, "{rules}");
}
