"""The program bodies, as data: what a session is made with and what it is sent.

Each language has one small program that carries these out with its SDK, so
that a scenario is the same program in every language and a new one is an
entry here and an entry in `expect.py`.

Fields: `tools` (a `result` in which `{key}` is the argument, `throws`, or
`hangs`), `permission` (how the handler answers: "approve" or "deny"),
`input` (how a question to the user is answered), `hooks`, `streaming`,
`agents`, `prompts` (each a list of the model's steps, see `model.py`),
`resume` (leave the session and resume it by id before each further prompt),
`files` (paths whose existence is reported at the end).
"""

import json


def call(name, /, **args):
    return {"name": name, "args": args}


def script(*steps):
    return "STEPS:" + json.dumps(list(steps))


def delegate(agent, *steps):
    """The parent's call of the task tool, with the child's own script."""
    return call(
        "task",
        agent_type=agent,
        name=f"{agent}-run",
        description=f"run {agent}",
        prompt=script(*steps),
        mode="sync",
    )


def bash(command):
    return call("bash", command=command, description="a test command")


SECRET = {"name": "get_secret", "description": "gives the secret of a key", "result": "secret-{key}"}
OTHER = {"name": "other_tool", "description": "another tool", "result": "other-{key}"}
BROKEN = {"name": "broken_tool", "description": "fails", "throws": "kaboom"}
HANGS = {"name": "get_secret", "description": "never answers", "hangs": True}

HELPER = {
    "name": "helper",
    "displayName": "Helper Agent",
    "description": "may use every tool",
    "prompt": "You are helper.",
}
LIMITED = {
    "name": "limited",
    "displayName": "Limited Agent",
    "description": "may use one tool",
    "prompt": "You are limited.",
    "tools": ["other_tool"],
}

SCENARIOS = {
    "prompt": {
        "prompts": [script("hello from the model")],
    },
    "streaming": {
        "streaming": True,
        "prompts": [script("one two three four five")],
    },
    "custom_tool": {
        "tools": [SECRET],
        "permission": "approve",
        "prompts": [script([call("get_secret", key="alpha")], "model got {last}")],
    },
    "custom_tool_throws": {
        "tools": [BROKEN],
        "permission": "approve",
        "prompts": [script([call("broken_tool", key="alpha")], "went on")],
    },
    "permission_approved": {
        "permission": "approve",
        "prompts": [script([bash("touch approved.txt")], "done")],
        "files": ["approved.txt"],
    },
    "permission_denied": {
        "permission": "deny",
        "prompts": [script([bash("touch denied.txt")], "model got {last}")],
        "files": ["denied.txt"],
    },
    "user_input": {
        "permission": "approve",
        "input": {"answer": "B", "wasFreeform": False},
        "prompts": [script([call("ask_user", question="Which?", choices=["A", "B"])], "model got {last}")],
    },
    "hooks": {
        "tools": [SECRET],
        "permission": "approve",
        "hooks": True,
        "prompts": [script([call("get_secret", key="hooked")], "model got {last}")],
    },
    "resume": {
        "tools": [SECRET],
        "permission": "approve",
        "resume": True,
        "prompts": [
            script("first answer"),
            script([call("get_secret", key="resumed")], "{last} after {earlier}"),
        ],
    },
    "subagent_tool": {
        "tools": [SECRET, OTHER],
        "permission": "approve",
        "hooks": True,
        "agents": [HELPER],
        "prompts": [
            script([delegate("helper", [call("get_secret", key="child")], "child got {last}")], "parent done")
        ],
    },
    "subagent_refused": {
        "tools": [SECRET, OTHER],
        "permission": "approve",
        "agents": [LIMITED],
        "prompts": [
            script([delegate("limited", [call("get_secret", key="child")], "child went on")], "parent done")
        ],
    },
    "subagent_permission": {
        "permission": "approve",
        "agents": [HELPER],
        "prompts": [
            script([delegate("helper", [bash("touch by-child.txt")], "child done")], "parent done")
        ],
        "files": ["by-child.txt"],
    },
    "subagent_permission_denied": {
        "permission": "deny",
        "agents": [HELPER],
        "prompts": [
            script([delegate("helper", [bash("touch not-by-child.txt")], "child got {last}")], "parent done")
        ],
        "files": ["not-by-child.txt"],
    },
}

# Carried out by the kill cases only: the turn is open when the axe falls.
HANGING = {
    "tools": [HANGS],
    "permission": "approve",
    "prompts": [script([call("get_secret", key="never")], "never said")],
}


def with_names(names):
    """The scenarios as the programs read them: a list, each with its name."""
    return [{"name": name, **SCENARIOS[name]} for name in names]
