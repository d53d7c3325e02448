//! The one binary.

fn main() -> std::process::ExitCode {
    millrace::cli::main(std::env::args_os())
}
