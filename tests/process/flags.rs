//! The SDKs' command lines, of this year and the next.

use crate::front::Front;
use crate::stdio_runtime::StdioRuntime;
use crate::support::world::{say_hello, temp_home};

/// Starts with these arguments, and returns what the runtime was started with and what stderr says.
fn started_with(args: &[&str], runtime_args: &str) -> (Vec<String>, String) {
    let home = temp_home();
    let runtime = StdioRuntime::new(home.path(), 3);
    let spec = format!("{}{runtime_args}", runtime.spec());
    let (mut front, mut client) = Front::stdio(home.path(), args, &spec);
    let hello = say_hello(&mut client, 3);
    let _lane = runtime.greeted_lane(&mut client, hello);
    client.close();
    front.expect_clean_exit();
    (runtime.args(), front.stderr())
}

fn count(args: &[String], flag: &str) -> usize {
    args.iter().filter(|arg| *arg == flag).count()
}

#[test]
fn every_published_sdks_command_line_starts_the_daemon() {
    let lines = [
        "--headless --no-auto-update --stdio",
        "--headless --no-auto-update --log-level debug --stdio --auth-token-env COPILOT_SDK_AUTH_TOKEN --no-auto-login",
        "--headless --no-auto-update --log-level info --stdio --session-idle-timeout 30 --remote",
        "--headless --no-auto-update --log-level info --no-auto-login --stdio",
        "--server --no-auto-update --log-level warning --stdio",
        "--server --stdio --no-auto-update --log-level none",
    ];
    for line in lines {
        let args: Vec<&str> = line.split(' ').collect();
        let (runtime_args, _) = started_with(&args, "");
        for flag in ["--headless", "--no-auto-update", "--stdio"] {
            assert_eq!(count(&runtime_args, flag), 1, "{line}: the runtime got {runtime_args:?}");
        }
    }
}

#[test]
fn what_an_sdk_says_about_log_and_login_reaches_the_runtime() {
    let line = "--headless --no-auto-update --log-level error --stdio --auth-token-env COPILOT_SDK_AUTH_TOKEN --no-auto-login --session-idle-timeout 30 --remote";
    let args: Vec<&str> = line.split(' ').collect();
    let (runtime_args, _) = started_with(&args, "");
    let joined = runtime_args.join(" ");
    let parts =
        ["--log-level error", "--auth-token-env COPILOT_SDK_AUTH_TOKEN", "--no-auto-login", "--session-idle-timeout 30", "--remote"];
    for part in parts {
        assert!(joined.contains(part), "{part} is missing in {joined}");
    }
}

#[test]
fn an_unknown_flag_is_warned_about_and_passed_on() {
    let args = ["--headless", "--no-auto-update", "--log-level", "warning", "--flag-of-next-year", "--other-flag=7", "--stdio"];
    let (runtime_args, stderr) = started_with(&args, "");
    for flag in ["--flag-of-next-year", "--other-flag=7"] {
        assert_eq!(count(&runtime_args, flag), 1, "the runtime got {runtime_args:?}");
    }
    for name in ["--flag-of-next-year", "--other-flag"] {
        assert!(stderr.contains(name), "no warning about {name} in:\n{stderr}");
    }
}

#[test]
fn a_runtime_whose_own_arguments_choose_the_transport_gets_it_once() {
    let (runtime_args, _) = started_with(&["--headless", "--no-auto-update", "--stdio"], " --its-own 'two words' --stdio");
    assert_eq!(count(&runtime_args, "--stdio"), 1, "{runtime_args:?}");
    assert_eq!(runtime_args[..2], ["--its-own", "two words"], "{runtime_args:?}");
}
