//! The form that SDKs spawn: `--headless` or `--server`, with flags that grow with every SDK release. Nothing
//! here may stop us from starting; what we do not know we warn about and pass on to the runtime.

use super::connect::{self, ConnectArgs};
use super::{Common, Outcome, log};
use crate::config::Config;
use crate::daemon::{SdkFront, block_on, serve_sdk};
use std::ffi::OsString;
use std::path::PathBuf;

/// What an SDK's arguments say.
#[derive(Debug, PartialEq, Eq)]
struct SdkArgs {
    front: SdkFront,
    runtime: Option<String>,
    config: Option<PathBuf>,
    log_level: String,
    /// For the runtime.
    passed_on: Vec<String>,
    /// Told to the user.
    unknown: Vec<String>,
}

/// Whether these are an SDK's arguments: one of its two words, and no subcommand before it.
pub fn is_sdk_form(words: &[OsString]) -> bool {
    let sdk = words.iter().position(|w| w == "--headless" || w == "--server");
    let command = words.iter().position(|w| ["serve", "connect", "demo", "doctor", "schema", "guard", "help"].iter().any(|c| w == c));
    sdk.is_some_and(|at| command.is_none_or(|c| at < c))
}

fn parse(words: &[OsString]) -> SdkArgs {
    let mut args = SdkArgs {
        front: SdkFront::Port(0),
        runtime: None,
        config: None,
        log_level: "default".into(),
        passed_on: Vec::new(),
        unknown: Vec::new(),
    };
    let mut words = words.iter().map(|w| w.to_string_lossy().into_owned()).peekable();
    while let Some(word) = words.next() {
        let (flag, inline) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag.to_owned(), Some(value.to_owned())),
            _ => (word.clone(), None),
        };
        let mut value = || inline.clone().or_else(|| words.next_if(|w| !w.starts_with("--"))).unwrap_or_default();
        match flag.as_str() {
            "--headless" | "--server" | "--no-auto-update" => {}
            "--stdio" => args.front = SdkFront::Stdio,
            "--port" => args.front = SdkFront::Port(value().parse().unwrap_or(0)),
            "--runtime" => args.runtime = Some(value()),
            "--config" => args.config = Some(value().into()),
            "--log-level" => {
                args.log_level = value();
                args.passed_on.extend(["--log-level".to_owned(), args.log_level.clone()]);
            }
            "--auth-token-env" | "--session-idle-timeout" => {
                let value = value();
                args.passed_on.extend([flag, value]);
            }
            "--no-auto-login" | "--remote" => args.passed_on.push(word),
            _ => {
                // Whether a bare word behind it is its value cannot be known; the runtime sees both as they came.
                args.unknown.push(word.clone());
                args.passed_on.push(word);
            }
        }
    }
    args
}

/// Serves the SDK that spawned us.
pub fn run(words: &[OsString]) -> Outcome {
    let args = parse(words);
    log::start(&args.log_level);
    for word in args.unknown.iter().filter(|w| w.starts_with('-')) {
        eprintln!("subagentd: unknown option {word}: passed on to the runtime");
    }
    if std::env::var("SUBAGENTD_ATTACH").is_ok_and(|v| v == "1") && args.front == SdkFront::Stdio {
        let common = Common { runtime: args.runtime, config: args.config, log_level: args.log_level };
        return connect::run(&ConnectArgs::default(), &common);
    }
    let config = Config::load(args.config.as_deref())?;
    let runtime = config.runtime(args.runtime.as_deref())?;
    block_on(serve_sdk(args.front, &config, runtime, args.passed_on))??;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> SdkArgs {
        parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn every_published_sdk_is_understood() {
        let node = parsed(
            "--headless --no-auto-update --log-level error --stdio --auth-token-env COPILOT_SDK_AUTH_TOKEN --no-auto-login --session-idle-timeout 30",
        );
        assert_eq!((node.front, node.unknown.len()), (SdkFront::Stdio, 0));
        assert_eq!(
            node.passed_on.join(" "),
            "--log-level error --auth-token-env COPILOT_SDK_AUTH_TOKEN --no-auto-login --session-idle-timeout 30"
        );
        assert_eq!(parsed("--headless --no-auto-update").front, SdkFront::Port(0));
        assert_eq!(parsed("--server --no-auto-update --log-level info --port 4711").front, SdkFront::Port(4711));
        assert_eq!(parsed("--server --stdio --no-auto-update").front, SdkFront::Stdio);
    }

    #[test]
    fn the_users_own_arguments_may_come_first() {
        let args = parsed("--runtime exec:copilot --config=/x.toml --headless --stdio");
        assert_eq!((args.runtime.as_deref(), args.config), (Some("exec:copilot"), Some("/x.toml".into())));
    }

    #[test]
    fn what_is_unknown_is_passed_on_as_it_came() {
        let args = parsed("--headless --new-thing 5 --other=x --stdio");
        assert_eq!(args.passed_on, ["--new-thing", "5", "--other=x"]);
        assert_eq!(args.front, SdkFront::Stdio);
    }

    #[test]
    fn a_subcommand_is_no_sdk_form() {
        let is = |line: &str| is_sdk_form(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(is("--headless --stdio") && is("--runtime x --server"));
        assert!(!is("serve --socket x") && !is("guard -- copilot --headless") && !is("--help"));
    }
}
