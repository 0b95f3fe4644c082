"""What each scenario must give, and where a runtime or a pair is different.

`EXPECT` holds for every SDK on every runtime. A field that an entry leaves
out must be empty. `ANY` matches any text. `hooks` lists, for the hook types
that all runtimes have, the tools they fired for; other types are compared
between direct and through only, as are fields that neither an entry nor
`EMPTY` has.

Every exception stands in one of the tables below it, with its reason.
"""

from packages import SDKS

ANY = "(any text)"


class OneOf(list):
    """A field that may have any of these values, where a runtime races with itself."""

    def __init__(self, *values):
        super().__init__(values)


EMPTY = {
    "answer": "", "streamed": "", "tools": [], "permissions": [], "inputs": [], "results": [],
    "subagents": [], "unnamed": [], "files": {}, "errors": [],
}
REJECTED = "The user rejected this tool call. User feedback: nope"
CHILD_CALL = ["get_secret", {"key": "child"}]
MISSING = "Tool 'get_secret' does not exist."

EXPECT = {
    "prompt": {
        "answer": "hello from the model",
    },
    "streaming": {
        "answer": "one two three four five",
        "streamed": "one two three four five",
    },
    "custom_tool": {
        "answer": "model got secret-alpha",
        "tools": [["get_secret", {"key": "alpha"}]],
        "permissions": ["custom-tool:get_secret"],
        "results": [["main", "get_secret", "ok", "secret-alpha"]],
    },
    "custom_tool_throws": {
        "answer": "went on",
        "tools": [["broken_tool", {"key": "alpha"}]],
        "permissions": ["custom-tool:broken_tool"],
        "results": [["main", "broken_tool", "failed", ANY]],
    },
    "permission_approved": {
        "answer": "done",
        "permissions": ["shell"],
        "results": [["main", "bash", "ok", "<exit 0>"]],
        "files": {"approved.txt": True},
    },
    "permission_denied": {
        "answer": f"model got {REJECTED}",
        "permissions": ["shell"],
        "results": [["main", "bash", "failed", REJECTED]],
        "files": {"denied.txt": False},
    },
    "user_input": {
        "answer": "model got User selected: B",
        "inputs": [["Which?", ["A", "B"]]],
        "results": [["main", "ask_user", "ok", "User selected: B"]],
    },
    "hooks": {
        "answer": "model got secret-hooked",
        "tools": [["get_secret", {"key": "hooked"}]],
        "permissions": ["custom-tool:get_secret"],
        "results": [["main", "get_secret", "ok", "secret-hooked"]],
        "hooks": {
            "sessionStart": [None],
            "userPromptSubmitted": [None],
            "preToolUse": ["get_secret"],
            "postToolUse": ["get_secret"],
        },
        "hook_args": [["object", {"key": "hooked"}]],
    },
    "resume": {
        "answer": "secret-resumed after first answer",
        "tools": [["get_secret", {"key": "resumed"}]],
        "permissions": ["custom-tool:get_secret"],
        "results": [["main", "get_secret", "ok", "secret-resumed"]],
        "history": ["first answer"],
    },
    "subagent_tool": {
        "answer": "parent done",
        "tools": [CHILD_CALL],
        "permissions": ["custom-tool:get_secret"],
        "results": [
            ["child", "get_secret", "ok", "secret-child"],
            ["main", "task", "ok", "child got secret-child"],
        ],
        "subagents": ["started helper", "completed helper"],
        "hooks": {"preToolUse": ["get_secret", "task"], "postToolUse": ["get_secret", "task"]},
    },
    "subagent_refused": {
        "answer": "parent done",
        "results": [
            ["child", "get_secret", "failed", MISSING],
            ["main", "task", "ok", "child went on"],
        ],
        "subagents": ["started limited", "completed limited"],
    },
    "subagent_permission": {
        "answer": "parent done",
        "permissions": ["shell"],
        "results": [
            ["child", "bash", "ok", "<exit 0>"],
            ["main", "task", "ok", "child done"],
        ],
        "subagents": ["started helper", "completed helper"],
        "files": {"by-child.txt": True},
    },
    "subagent_permission_denied": {
        "answer": "parent done",
        "permissions": ["shell"],
        "results": [
            ["child", "bash", "failed", REJECTED],
            ["main", "task", "ok", f"child got {REJECTED}"],
        ],
        "subagents": ["started helper", "completed helper"],
        "files": {"not-by-child.txt": False},
    },
}

# What a runtime cannot do, whoever stands before it.
RUNTIME_CANNOT = [
    {
        "runtimes": ["cli-0.0.420"],
        "scenarios": ["subagent_tool"],
        "reason": "custom tools never reach sub-agents, and their tools fire no hooks",
        "change": {
            "tools": [],
            "permissions": [],
            "results": [
                ["child", "get_secret", "failed", MISSING],
                ["main", "task", "ok", f"child got {MISSING}"],
            ],
            "hooks": {"preToolUse": ["task"], "postToolUse": ["task"]},
        },
    },
    {
        "runtimes": ["cli-1.0.20"],
        "scenarios": ["subagent_tool"],
        "reason": "a sub-agent's tools fire no hooks",
        "change": {"hooks": {"preToolUse": ["task"], "postToolUse": ["task"]}},
    },
    {
        "runtimes": ["native"],
        "scenarios": ["subagent_tool", "subagent_permission", "subagent_permission_denied"],
        "reason": "now and then the runtime asks for permission before any event has said whose call it is",
        "change": {"unnamed": OneOf([], ["permission.requested"])},
    },
]

# Where direct is wrong and through us is right.
DIRECT_WRONG = [
    {
        "runtimes": ["native"],
        "scenarios": ["subagent_tool"],
        "reason": "the runtime sends external_tool.requested twice with one requestId, and the handler "
                  "runs twice unless the first call is still pending when the second arrives",
        "change": {"tools": OneOf([CHILD_CALL], [CHILD_CALL, CHILD_CALL])},
    },
    {
        "runtimes": ["native", "cli-1.0.57"],
        "scenarios": ["subagent_tool"],
        "reason": "the runtime does not say which agent asks",
        "change": {"unnamed": ["external_tool.requested", "permission.requested"]},
    },
    {
        "runtimes": ["native", "cli-1.0.57"],
        "scenarios": ["subagent_permission", "subagent_permission_denied"],
        "reason": "the runtime does not say which agent asks",
        "change": {"unnamed": ["permission.requested"]},
    },
    {
        "runtimes": ["cli-1.0.57"],
        "scenarios": ["hooks"],
        "reason": "a protocol 3 runtime that still gives preToolUse the arguments as text",
        "change": {"hook_args": [["text", {"key": "hooked"}]]},
    },
]

# Pairs that do not work without us, so that only `EXPECT` can judge them.
NO_DIRECT = [
    {
        "sdks": ["node-0.1.29", "python-0.1.30"],
        "runtimes": ["cli-1.0.102", "native", "cli-1.0.57", "cli-1.0.20"],
        "reason": "the SDK accepts protocol 2 only",
    },
    {
        "sdks": ["node-1.0.14", "python-1.0.27", "go-1.0.14"],
        "runtimes": ["cli-0.0.420"],
        "reason": "the SDK accepts protocol 3 only",
    },
    {
        "sdks": ["node-0.3.0"],
        "runtimes": ["cli-0.0.420", "cli-1.0.20"],
        "reason": "the runtime does not know the SDK's permission answers (approve-once, reject)",
    },
    {
        "sdks": ["node-1.0.14", "python-1.0.27", "go-1.0.14"],
        "runtimes": ["cli-1.0.57", "cli-1.0.20"],
        "reason": "the runtime has no session.detach, so that leaving a session fails; "
                  "1.0.20 does not know approve-once either, and Python waits for a user.message "
                  "with the messageId of its send, which older runtimes leave out",
    },
]

# Fields that may differ between direct and through, beside those that
# DIRECT_WRONG names.
MAY_DIFFER = [
    {
        "sdks": ["node-0.3.0"],
        "scenarios": ["custom_tool_throws"],
        "fields": ["results"],
        "reason": "a protocol 2 client through us, a protocol 3 client directly: the texts of a failure differ",
    },
    {
        "sdks": ["node-0.3.0"],
        "scenarios": ["subagent_tool", "subagent_permission", "subagent_permission_denied"],
        "fields": ["unnamed"],
        "reason": "a protocol 2 client is asked by requests and not by events",
    },
    {
        "sdks": ["node-0.3.0"],
        "scenarios": ["hooks", "subagent_tool"],
        "fields": ["hook_args"],
        "reason": "protocol 2 gives preToolUse the arguments as text",
    },
]


def no_direct(sdk, runtime):
    """Why this pair cannot run without us, or None."""
    for entry in NO_DIRECT:
        if sdk in entry["sdks"] and runtime in entry["runtimes"]:
            return entry["reason"]
    return None


def entries(table, **what):
    """The entries of a table that are about all of `what` (runtimes=…, scenarios=…)."""
    return [entry for entry in table if all(value in entry[key] for key, value in what.items())]


def expected(sdk, runtime, scenario, mode):
    want = {**EMPTY, **EXPECT[scenario]}
    for table in [RUNTIME_CANNOT] + ([DIRECT_WRONG] if mode == "direct" else []):
        for entry in entries(table, runtimes=runtime, scenarios=scenario):
            want.update(entry["change"])
    protocol = SDKS[sdk]["protocol"]
    if mode == "direct":
        protocol = SDKS[sdk].get("direct", protocol)
    if protocol == 2 and "hook_args" in want:
        # Protocol 2 gives preToolUse the arguments as JSON text.
        want["hook_args"] = [["text", value] for _, value in want["hook_args"]]
    if runtime in ("cli-1.0.20", "cli-0.0.420") or protocol == 2:
        # These runtimes give a child no identity, and nothing may be invented;
        # a protocol 2 client is asked by requests, which have no place for one.
        del want["unnamed"]
    return want


def mismatches(want, seen):
    """Fields of an observation that are not as expected: (field, wanted, seen)."""
    found = []
    for field, value in want.items():
        got = seen.get(field)
        if field == "hooks":
            value = {kind: sorted(tools, key=str) for kind, tools in value.items()}
            got = {kind: hooks_of(seen["hooks"], kind) for kind in value}
        elif field == "results":
            value = sorted(value, key=str)
            if len(got) == len(value):
                got = [[*g[:3], ANY] if w[3] == ANY else g for g, w in zip(got, value)]
        if got not in value if isinstance(value, OneOf) else got != value:
            found.append((field, value, got))
    return found


def hooks_of(hooks, kind):
    """The tools that hooks of one type fired for; None where there is no tool."""
    parts = [hook.partition(":") for hook in hooks]
    return sorted((tool or None for name, _, tool in parts if name == kind), key=str)


def differences(sdk, runtime, scenario, direct, through):
    """Fields in which direct and through differ and should not."""
    free = set()
    for entry in entries(DIRECT_WRONG, runtimes=runtime, scenarios=scenario):
        free.update(entry["change"])
    for entry in entries(MAY_DIFFER, sdks=sdk, scenarios=scenario):
        free.update(entry["fields"])
    return [
        (field, direct[field], through.get(field))
        for field in direct
        if field not in free and direct[field] != through.get(field)
    ]
