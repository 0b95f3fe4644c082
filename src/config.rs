//! The config file: `$XDG_CONFIG_HOME/subagentd/config.toml`. Unknown keys are errors that name the line.

use crate::rpc::FrameLimits;
use crate::runtime::{RuntimeSpec, SpecError};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything that can be configured.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which runtime, as `--runtime` takes it.
    pub runtime: Option<String>,
    /// Limits.
    pub limits: Limits,
    /// What happens to a client's questions when it vanishes.
    pub reconnect: Reconnect,
}

/// `[limits]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of one frame header.
    pub header_bytes: usize,
    /// Bytes of one body.
    pub body_bytes: usize,
    /// Levels of nesting in one body.
    pub json_depth: usize,
    /// Bytes that may wait for one client before it is cut off.
    pub queue_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let frame = FrameLimits::default();
        Limits { header_bytes: frame.header, body_bytes: frame.body, json_depth: 128, queue_bytes: 8 * 1024 * 1024 }
    }
}

impl Limits {
    /// The part that the codec needs.
    pub fn frame(&self) -> FrameLimits {
        FrameLimits { header: self.header_bytes, body: self.body_bytes }
    }
}

/// `[reconnect]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reconnect {
    /// How long a vanished protocol 3 client's questions wait in the shared daemon, in milliseconds.
    pub grace_ms: u64,
}

impl Default for Reconnect {
    fn default() -> Self {
        Reconnect { grace_ms: 60_000 }
    }
}

impl Reconnect {
    /// As a duration.
    pub fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

/// Why there is no config.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is wrong; the message names line and column.
    #[error("{path}: {error}")]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        error: Box<toml::de::Error>,
    },
    /// A limit that no daemon could work with.
    #[error("{path}: limits.{key} = {value} is out of range; use {range}")]
    OutOfRange {
        /// Which file.
        path: PathBuf,
        /// Which key.
        key: &'static str,
        /// What it says.
        value: usize,
        /// What it may say.
        range: &'static str,
    },
    /// The runtime's name is not understood.
    #[error(transparent)]
    Runtime(#[from] SpecError),
}

impl Config {
    /// Reads a file, or the usual one if it is there.
    pub fn load(path: Option<&Path>) -> Result<Config, ConfigError> {
        let usual = usual_path();
        let (path, needed) = match (path, &usual) {
            (Some(path), _) => (path, true),
            (None, Some(usual)) => (usual.as_path(), false),
            (None, None) => return Ok(Config::default()),
        };
        match std::fs::read_to_string(path) {
            Ok(text) => Config::parse(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !needed => Ok(Config::default()),
            Err(error) => Err(ConfigError::Unreadable { path: path.into(), error }),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
        let config: Config = toml::from_str(text).map_err(|error| ConfigError::Wrong { path: path.into(), error: Box::new(error) })?;
        let limits = &config.limits;
        let bounds = [
            ("header_bytes", limits.header_bytes, 64..=1 << 20, "64 to 1048576"),
            ("body_bytes", limits.body_bytes, 1024..=1 << 30, "1024 to 1073741824"),
            ("json_depth", limits.json_depth, 8..=512, "8 to 512"),
            ("queue_bytes", limits.queue_bytes, 65_536..=1 << 32, "65536 to 4294967296"),
        ];
        for (key, value, allowed, range) in bounds {
            if !allowed.contains(&value) {
                return Err(ConfigError::OutOfRange { path: path.into(), key, value, range });
            }
        }
        Ok(config)
    }

    /// The runtime: the command line's, else the environment's, else the file's, else the embedded one.
    pub fn runtime(&self, flag: Option<&str>) -> Result<RuntimeSpec, ConfigError> {
        let environment = std::env::var("SUBAGENTD_RUNTIME").ok().filter(|v| !v.trim().is_empty());
        match flag.or(environment.as_deref()).or(self.runtime.as_deref()) {
            Some(text) => Ok(text.parse()?),
            None => Ok(RuntimeSpec::Embedded),
        }
    }
}

/// `$XDG_CONFIG_HOME/subagentd/config.toml`, or below `~/.config`.
pub fn usual_path() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config").map(|f| f.join("subagentd/config.toml"))
}

/// `$XDG_RUNTIME_DIR/subagentd/subagentd.sock`, or below `/tmp` by uid where there is no such folder.
pub fn usual_socket() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|v| !v.is_empty()) {
        Some(folder) => PathBuf::from(folder).join("subagentd/subagentd.sock"),
        // SAFETY: geteuid has no preconditions and cannot fail.
        None => std::env::temp_dir().join(format!("subagentd-{}/subagentd.sock", unsafe { libc::geteuid() })),
    }
}

fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
    set.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below_home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("config.toml"))
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_line() {
        let error = parse("runtime = \"exec:copilot\"\n[limits]\nbody_byte = 3\n").unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("body_byte"), "{error}");
    }

    #[test]
    fn a_limit_out_of_range_says_what_is_allowed() {
        let error = parse("[limits]\nheader_bytes = 1\n").unwrap_err().to_string();
        assert_eq!(error, "config.toml: limits.header_bytes = 1 is out of range; use 64 to 1048576");
    }

    #[test]
    fn the_flag_wins_over_the_file() {
        let config = parse("runtime = \"exec:copilot\"").unwrap();
        assert_eq!(config.runtime(Some("unix:/x")).unwrap(), RuntimeSpec::Unix("/x".into()));
    }
}
