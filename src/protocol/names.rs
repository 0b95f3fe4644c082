//! Names on the wire that we act on. The catalogue has hundreds more; they pass through unread.

/// Handshake, protocol 3.
pub const CONNECT: &str = "connect";
/// Handshake, protocol 2; a sign of life in both.
pub const PING: &str = "ping";
/// Version and protocol of the runtime.
pub const STATUS_GET: &str = "status.get";
/// Opens a session.
pub const SESSION_CREATE: &str = "session.create";
/// Attaches to a session that exists.
pub const SESSION_RESUME: &str = "session.resume";
/// Sends a prompt.
pub const SESSION_SEND: &str = "session.send";
/// Removes a session from disk.
pub const SESSION_DELETE: &str = "session.delete";
/// Ends a session for everyone.
pub const SESSION_DESTROY: &str = "session.destroy";
/// Leaves a session, protocol 3.
pub const SESSION_DETACH: &str = "session.detach";
/// Ends the runtime.
pub const RUNTIME_SHUTDOWN: &str = "runtime.shutdown";
/// Answers an `external_tool.requested`.
pub const HANDLE_TOOL: &str = "session.tools.handlePendingToolCall";
/// Answers a `permission.requested`.
pub const HANDLE_PERMISSION: &str = "session.permissions.handlePendingPermissionRequest";
/// What the daemon itself tells of its state; never reaches a runtime.
pub const DAEMON_STATUS: &str = "subagentd.status";
/// Cancels a request by its id.
pub const CANCEL: &str = "$/cancelRequest";

/// Everything that happens in a session.
pub const SESSION_EVENT: &str = "session.event";
/// A session came, changed or went.
pub const SESSION_LIFECYCLE: &str = "session.lifecycle";

/// A tool of the client is to be run.
pub const TOOL_CALL: &str = "tool.call";
/// May this be done?
pub const PERMISSION_REQUEST: &str = "permission.request";
/// A hook of the client is to be run.
pub const HOOKS_INVOKE: &str = "hooks.invoke";
/// A person is to be asked.
pub const USER_INPUT_REQUEST: &str = "userInput.request";

/// The four callbacks, which a child may send and which are resolved to its root.
pub const CALLBACKS: [&str; 4] = [TOOL_CALL, PERMISSION_REQUEST, HOOKS_INVOKE, USER_INPUT_REQUEST];

/// Methods beside create and resume whose result names a session that the caller is attached to from then on.
pub const OPENERS: [&str; 3] = ["sessions.open", "sessions.fork", "sessions.connect"];

/// Methods that name a session and need its owner, not attachment: looking it up, taking it up, removing it.
/// All of `sessions.*` is of this kind.
pub const OWNER_LEVEL: [&str; 4] = [SESSION_DELETE, "session.getMetadata", "session.getForeground", "session.setForeground"];

/// A child begins.
pub const SUBAGENT_STARTED: &str = "subagent.started";
/// A child ended well.
pub const SUBAGENT_COMPLETED: &str = "subagent.completed";
/// A child ended badly.
pub const SUBAGENT_FAILED: &str = "subagent.failed";
/// A tool begins; ties a child's calls to it.
pub const TOOL_EXECUTION_START: &str = "tool.execution_start";
/// A tool ended.
pub const TOOL_EXECUTION_COMPLETE: &str = "tool.execution_complete";
/// A prompt begins.
pub const USER_MESSAGE: &str = "user.message";
/// A turn ended.
pub const SESSION_IDLE: &str = "session.idle";
/// A model's answer; lists the calls it is about to make.
pub const ASSISTANT_MESSAGE: &str = "assistant.message";
/// Protocol 3's `tool.call`.
pub const EXTERNAL_TOOL_REQUESTED: &str = "external_tool.requested";
/// Protocol 3's `permission.request`.
pub const PERMISSION_REQUESTED: &str = "permission.requested";
