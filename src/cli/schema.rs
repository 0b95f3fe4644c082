//! `subagentd schema`: the protocol's JSON Schema, generated from the types.

use super::Outcome;
use crate::protocol::{handshake, questions, session, subagent};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Flags of `schema`.
#[derive(clap::Args)]
pub struct SchemaArgs {
    /// Write one file a type into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "check")]
    write: Option<PathBuf>,
    /// Fail if the files in this folder are not what would be written
    #[arg(long, value_name = "FOLDER")]
    check: Option<PathBuf>,
}

/// Prints, writes or checks.
pub fn run(args: &SchemaArgs) -> Outcome {
    let files = schemas();
    if let Some(folder) = &args.write {
        std::fs::create_dir_all(folder)?;
        for (name, text) in &files {
            std::fs::write(folder.join(name), text)?;
        }
    } else if let Some(folder) = &args.check {
        let mut there: BTreeMap<String, String> = BTreeMap::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            there.insert(entry.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(entry.path())?);
        }
        let off: Vec<_> = files.keys().chain(there.keys()).filter(|name| files.get(*name) != there.get(*name)).cloned().collect();
        if !off.is_empty() {
            return Err(format!("{} is not current ({}); run `make schema`", folder.display(), off.join(", ")).into());
        }
    } else {
        for (name, text) in &files {
            super::print(&format!("// {name}\n{text}"));
        }
    }
    Ok(())
}

fn schemas() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut add = |name: &str, schema: Schema| {
        let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
        files.insert(format!("{name}.json"), text);
    };
    fn of<T: JsonSchema>() -> Schema {
        SchemaGenerator::new(SchemaSettings::draft2020_12()).into_root_schema_for::<T>()
    }
    add("connect.params", of::<handshake::ConnectParams>());
    add("connect.result", of::<handshake::ConnectResult>());
    add("ping.result", of::<handshake::PingResult>());
    add("session.create.params", of::<session::SessionOptions>());
    add("session.create.result", of::<session::SessionOpened>());
    add("session.detach.result", of::<session::Success>());
    add("session.lifecycle.params", of::<session::Lifecycle>());
    add("session.tools.handlePendingToolCall.params", of::<questions::HandlePendingToolCall>());
    add("session.permissions.handlePendingPermissionRequest.params", of::<questions::HandlePendingPermission>());
    add("tool.call.params", of::<questions::ToolCall>());
    add("tool.call.result", of::<questions::ToolCallResult>());
    add("tool.result", of::<questions::ToolResult>());
    add("permission.request.params", of::<questions::PermissionRequest>());
    add("userInput.request.params", of::<questions::UserInputRequest>());
    add("userInput.request.result", of::<questions::UserInputResult>());
    add("hooks.invoke.params", of::<questions::HooksInvoke>());
    add("hooks.invoke.result", of::<questions::HooksResult>());
    add("event.external_tool.requested.data", of::<questions::ExternalToolRequested>());
    add("event.permission.requested.data", of::<questions::PermissionRequested>());
    add("event.subagent.started.data", of::<subagent::SubagentStarted>());
    add("event.subagent.completed.data", of::<subagent::SubagentEnded>());
    files
}
