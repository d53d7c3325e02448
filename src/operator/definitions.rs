//! Whether the installed CustomResourceDefinitions hold what this version writes.
//!
//! Owns: finding the fields that the API server would silently drop.
//! May not: install or change a definition.

use super::error::OperatorError;
use crate::api::crd::{self, Crd};
use crate::api::{GROUP, VERSION};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};
use serde_json::Value;

/// So many missing fields are named.
const NAMED: usize = 5;

/// Holds the installed definitions against our own.
///
/// # Errors
/// If one is missing, or would drop a field of ours, or cannot be read.
pub(super) async fn check(client: &Client) -> Result<(), OperatorError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for own in crd::all() {
        let name = format!("{}.{GROUP}", own.plural);
        let found = api.get_opt(&name).await.map_err(OperatorError::cluster(format!("the definition {name} cannot be read")))?;
        let Some(found) = found else { return Err(OperatorError::OldDefinitions(format!("{name} is not installed").into())) };
        let found = serde_json::to_value(found.spec).unwrap_or_default();
        let missing = missing(&own, &found);
        if !missing.is_empty() {
            let list = missing.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = missing.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            return Err(OperatorError::OldDefinitions(format!("{name} is older than this operator: it lacks {list}{more}").into()));
        }
    }
    Ok(())
}

/// The fields of ours that an installed definition lacks.
fn missing(own: &Crd, installed: &Value) -> Vec<String> {
    let ours = own.manifest.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap_or(&Value::Null);
    let versions = installed.get("versions").and_then(Value::as_array).into_iter().flatten();
    let mut theirs = versions.filter(|version| version.get("name").and_then(Value::as_str) == Some(VERSION));
    let theirs = theirs.find_map(|version| version.pointer("/schema/openAPIV3Schema"));
    let mut found = Vec::new();
    compare(ours, theirs.unwrap_or(&Value::Null), "", &mut found);
    found
}

fn compare(ours: &Value, theirs: &Value, at: &str, found: &mut Vec<String>) {
    if theirs.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        return;
    }
    for (name, own) in ours.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{at}.{name}");
        match theirs.get("properties").and_then(|properties| properties.get(name)) {
            Some(their) => compare(own, their, &path, found),
            None => found.push(path.trim_start_matches('.').to_owned()),
        }
    }
    for (below, sign) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(own) = ours.get(below) {
            compare(own, theirs.get(below).unwrap_or(&Value::Null), &format!("{at}{sign}"), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{crd, missing};
    use serde_json::{Value, json};

    fn spec() -> Value {
        crd::all()[0].manifest["spec"].clone()
    }

    #[test]
    fn scenario_47_fields_that_an_older_definition_lacks_are_named() {
        let own = &crd::all()[0];
        assert!(missing(own, &spec()).is_empty());
        let mut newer = spec();
        newer["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["more"] = json!({"type": "string"});
        assert!(missing(own, &newer).is_empty());
        let mut older = spec();
        let schema = "/versions/0/schema/openAPIV3Schema/properties";
        older.pointer_mut(&format!("{schema}/spec/properties/root/properties")).unwrap().as_object_mut().unwrap().remove("maxLead");
        older.pointer_mut(&format!("{schema}/status/properties")).unwrap().as_object_mut().unwrap().remove("root");
        assert_eq!(missing(own, &older), ["spec.root.maxLead", "status.root"]);
        let mut gone = spec();
        gone["versions"][0]["name"] = json!("v1alpha0");
        assert!(missing(own, &gone).contains(&"spec".to_owned()));
    }
}
