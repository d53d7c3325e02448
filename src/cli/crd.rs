//! `millrace crd`: prints the CustomResourceDefinitions, as `crds/` holds them.
//!
//! Owns: their form as text.
//! May not: install them; `kubectl apply -f crds/` does.

use super::CliError;
use crate::api::crd;
use std::io::Write;

/// What each file of `crds/` begins with.
const HEAD: &str = "# Made from the types by `millrace crd`; do not edit.\n";

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Only that of one kind, by its plural, such as streampipelines.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(crd::all().into_iter().map(|crd| crd.plural)))]
    plural: Option<String>,
}

pub(super) fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), CliError> {
    for crd in crd::all().iter().filter(|crd| arguments.plural.as_deref().is_none_or(|plural| plural == crd.plural)) {
        write!(out, "{HEAD}---\n{}", crd.yaml()?)?;
    }
    Ok(())
}
