//! The `subagentd` program: parse the command line, call the library, give the exit code.

fn main() -> std::process::ExitCode {
    subagentd::cli::main()
}
