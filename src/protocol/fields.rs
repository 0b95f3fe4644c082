//! Which fields routing looks at, as a table for the scanner. Everything else stays raw.

use crate::rpc::Wanted;
use crate::rpc::message::{ERROR, FIRST_FREE, ID, METHOD, PARAMS, RESULT, SLOTS};

macro_rules! slots {
    ($first:expr; $($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        slots!(@ $first; $($(#[$doc])* $name),+);
    };
    (@ $at:expr; $(#[$doc:meta])* $name:ident $(, $(#[$more:meta])* $rest:ident)*) => {
        $(#[$doc])* pub const $name: usize = $at;
        slots!(@ $at + 1; $($(#[$more])* $rest),*);
    };
    (@ $at:expr;) => { const USED: usize = $at; };
}

slots! { FIRST_FREE;
    /// `params.sessionId`
    SESSION_ID,
    /// `params.requestId`
    REQUEST_ID,
    /// `params.toolName`
    TOOL_NAME,
    /// `params.type`, of a life-cycle notification
    LIFECYCLE_TYPE,
    /// `params.event`
    EVENT,
    /// `params.event.type`
    EVENT_TYPE,
    /// `params.event.agentId`
    AGENT_ID,
    /// `params.event.parentAgentId`
    PARENT_AGENT_ID,
    /// `params.event.data`
    DATA,
    /// `params.event.data.requestId`
    DATA_REQUEST_ID,
    /// `params.event.data.sessionId`
    DATA_SESSION_ID,
    /// `params.event.data.toolName`
    DATA_TOOL_NAME,
    /// `params.event.data.toolCallId`
    DATA_TOOL_CALL_ID,
    /// `params.event.data.parentToolCallId`
    DATA_PARENT_TOOL_CALL_ID,
    /// `params.event.data.ownerSessionId`
    DATA_OWNER_SESSION_ID,
    /// `params.event.data.ownerNativeSessionId`
    DATA_OWNER_NATIVE_SESSION_ID,
    /// `params.event.data.permissionRequest`
    DATA_PERMISSION,
    /// `params.event.data.permissionRequest.toolCallId`
    DATA_PERMISSION_TOOL_CALL_ID,
    /// `params.event.data.toolRequests`
    DATA_TOOL_REQUESTS,
    /// `params.event.data.arguments`
    DATA_ARGUMENTS,
    /// `params.event.data.resolvedByHook`
    DATA_RESOLVED_BY_HOOK,
    /// `params.toolCallId`
    TOOL_CALL_ID,
    /// `params.arguments`
    ARGUMENTS,
    /// `params.permissionRequest`
    PERMISSION,
}

const _: () = assert!(USED <= SLOTS, "a message has no room for that many spans");

const fn leaf(key: &'static str, slot: usize) -> Wanted {
    Wanted { key, slot, inside: &[] }
}

/// The wanted fields of any message, from either side.
pub static ROUTED: [Wanted; 5] = [
    leaf("id", ID),
    leaf("method", METHOD),
    Wanted {
        key: "params",
        slot: PARAMS,
        inside: &[
            leaf("sessionId", SESSION_ID),
            Wanted {
                key: "event",
                slot: EVENT,
                inside: &[
                    leaf("type", EVENT_TYPE),
                    leaf("agentId", AGENT_ID),
                    leaf("parentAgentId", PARENT_AGENT_ID),
                    Wanted {
                        key: "data",
                        slot: DATA,
                        inside: &[
                            leaf("requestId", DATA_REQUEST_ID),
                            leaf("sessionId", DATA_SESSION_ID),
                            leaf("toolName", DATA_TOOL_NAME),
                            leaf("toolCallId", DATA_TOOL_CALL_ID),
                            leaf("parentToolCallId", DATA_PARENT_TOOL_CALL_ID),
                            leaf("ownerSessionId", DATA_OWNER_SESSION_ID),
                            leaf("ownerNativeSessionId", DATA_OWNER_NATIVE_SESSION_ID),
                            Wanted {
                                key: "permissionRequest",
                                slot: DATA_PERMISSION,
                                inside: &[leaf("toolCallId", DATA_PERMISSION_TOOL_CALL_ID)],
                            },
                            leaf("toolRequests", DATA_TOOL_REQUESTS),
                            leaf("arguments", DATA_ARGUMENTS),
                            leaf("resolvedByHook", DATA_RESOLVED_BY_HOOK),
                        ],
                    },
                ],
            },
            leaf("requestId", REQUEST_ID),
            leaf("toolName", TOOL_NAME),
            leaf("toolCallId", TOOL_CALL_ID),
            leaf("arguments", ARGUMENTS),
            leaf("permissionRequest", PERMISSION),
            leaf("type", LIFECYCLE_TYPE),
        ],
    },
    leaf("result", RESULT),
    leaf("error", ERROR),
];
