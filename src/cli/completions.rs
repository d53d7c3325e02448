//! `millrace completions`: what a shell needs to complete the command line.
//!
//! Owns: the printing. The scripts are made from the arguments themselves.
//! May not: install them.

use super::{Arguments as Whole, CliError};
use clap::CommandFactory;
use clap_complete::{Generator, Shell};
use std::io::Write;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), CliError> {
    let mut command = Whole::command();
    command.set_bin_name("millrace");
    command.build();
    Ok(arguments.shell.try_generate(&command, out)?)
}
