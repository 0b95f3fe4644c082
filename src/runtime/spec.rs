//! The runtime as the command line, the environment or the config file names it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Which runtime stands behind us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeSpec {
    /// In this process.
    Embedded,
    /// A child process on one stdio pipe.
    Exec(Vec<String>),
    /// A child process that is dialled by TCP, once for each client.
    ExecTcp(Vec<String>),
    /// One that already runs, by TCP.
    Tcp(String),
    /// One that already runs, by Unix socket.
    Unix(PathBuf),
}

/// Why a runtime's name was not understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SpecError {
    /// No known form.
    #[error("'{0}' names no runtime; write embedded, exec:PROGRAM [ARGS], exec+tcp:PROGRAM [ARGS], tcp:HOST:PORT or unix:PATH")]
    Unknown(String),
    /// `exec:` without a program, or with quotes that do not close.
    #[error("'{0}' names no program; write exec:PROGRAM [ARGS], with quotes around what has spaces")]
    NoProgram(String),
    /// `tcp:` without a port.
    #[error("'{0}' is no address; write tcp:HOST:PORT")]
    NoAddress(String),
    /// `unix:` without a path.
    #[error("'{0}' is no socket; write unix:PATH")]
    NoPath(String),
}

impl FromStr for RuntimeSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text = text.trim();
        let words = |rest: &str| match shell_words::split(rest) {
            Ok(words) if !words.is_empty() => Ok(words),
            _ => Err(SpecError::NoProgram(text.to_owned())),
        };
        match text.split_once(':') {
            None if text == "embedded" => Ok(RuntimeSpec::Embedded),
            Some(("exec", rest)) => words(rest).map(RuntimeSpec::Exec),
            Some(("exec+tcp", rest)) => words(rest).map(RuntimeSpec::ExecTcp),
            Some(("tcp", rest)) => match rest.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(RuntimeSpec::Tcp(rest.to_owned())),
                _ => Err(SpecError::NoAddress(text.to_owned())),
            },
            Some(("unix", "")) => Err(SpecError::NoPath(text.to_owned())),
            Some(("unix", rest)) => Ok(RuntimeSpec::Unix(rest.into())),
            _ => Err(SpecError::Unknown(text.to_owned())),
        }
    }
}

impl fmt::Display for RuntimeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuntimeSpec::Embedded => f.write_str("embedded"),
            RuntimeSpec::Exec(words) => write!(f, "exec:{}", shell_words::join(words)),
            RuntimeSpec::ExecTcp(words) => write!(f, "exec+tcp:{}", shell_words::join(words)),
            RuntimeSpec::Tcp(address) => write!(f, "tcp:{address}"),
            RuntimeSpec::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl RuntimeSpec {
    /// Whether it has one pipe that all clients share.
    pub fn has_one_pipe(&self) -> bool {
        matches!(self, RuntimeSpec::Exec(_) | RuntimeSpec::Embedded)
    }

    /// The whole command line of a runtime that we start, given the SDK flags that were passed to us.
    pub fn command(&self, sdk_flags: &[String]) -> Vec<String> {
        let (words, transport): (_, &[&str]) = match self {
            RuntimeSpec::Exec(words) => (words, &["--stdio"]),
            RuntimeSpec::ExecTcp(words) => (words, &["--port", "0"]),
            _ => return Vec::new(),
        };
        let mut command = Vec::new();
        // SDKs run a program that ends in .js with node; a path that worked for them works here.
        if words.first().is_some_and(|program| program.ends_with(".js")) {
            command.push("node".to_owned());
        }
        command.extend_from_slice(words);
        let chosen = words.iter().any(|w| w == "--stdio" || w == "--port" || w.starts_with("--port="));
        if !chosen {
            command.extend(["--headless", "--no-auto-update"].map(String::from));
            command.extend(transport.iter().map(|w| w.to_string()));
        }
        command.extend_from_slice(sdk_flags);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written_back() {
        for text in
            ["embedded", "exec:copilot", "exec:'/opt/my cli/copilot' --foo", "exec+tcp:copilot", "tcp:127.0.0.1:4000", "unix:/run/x.sock"]
        {
            assert_eq!(text.parse::<RuntimeSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for text in ["", "copilot", "exec:", "exec:'x", "tcp:4000", "tcp:host:port", "unix:", "http://x:1"] {
            assert!(text.parse::<RuntimeSpec>().is_err(), "{text}");
        }
    }

    #[test]
    fn transport_flags_are_added_unless_the_arguments_choose() {
        let command = |text: &str| text.parse::<RuntimeSpec>().unwrap().command(&["--log-level".into(), "error".into()]).join(" ");
        assert_eq!(command("exec:copilot"), "copilot --headless --no-auto-update --stdio --log-level error");
        assert_eq!(command("exec+tcp:copilot"), "copilot --headless --no-auto-update --port 0 --log-level error");
        assert_eq!(command("exec:my-runtime --stdio"), "my-runtime --stdio --log-level error");
        assert_eq!(command("exec:cli/index.js"), "node cli/index.js --headless --no-auto-update --stdio --log-level error");
    }
}
