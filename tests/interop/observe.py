"""From what a program saw to what is compared: no ids, no times, no paths.

An observation has these fields:
  answer       the main agent's last text
  streamed     its text deltas, joined
  tools        calls of custom tool handlers, each [name, arguments]
  permissions  what the permission handler was asked for, in order
  inputs       what the user was asked
  hooks        hook calls in order, `type` or `type:tool`
  hook_args    the arguments that preToolUse was given, each [text or object, value]
  results      tool results as events told them, [who, tool, ok or failed, text]
  subagents    started, completed and failed agents, each once
  unnamed      a child's requests whose events do not say which agent asked
  files        which of the scenario's files exist at the end
  history      what the assistant had said before, as a resumed session tells it
  errors       `session.error` events and the program's own exception
"""

import json
import re

# CLI 1.0.102 and the native runtime: "<shellId: 0 completed with exit code 0>";
# older ones: "<exited with exit code 0>".
EXIT = re.compile(r"<(?:shellId: \d+ completed|exited) with exit code (\d+)>")
# The list of a runtime's own tools that may follow.
NO_TOOL = re.compile(r"(Tool '[^']*' does not exist\.).*", re.S)


def tidy(text):
    text = EXIT.sub(r"<exit \1>", text or "").strip()
    return NO_TOOL.sub(r"\1", text)


def events_of(raw):
    """Type, data and whether a child is behind it, for each event."""
    for event in raw["events"]:
        data = event.get("data") or {}
        yield event["type"], data, bool(event.get("agentId") or data.get("parentToolCallId")), event


def observe(raw):
    answer, streamed, results, subagents, errors, unnamed = "", [], [], [], [], []
    names, children = {}, set()
    for kind, data, child, _ in events_of(raw):
        if kind == "tool.execution_start":
            names[data["toolCallId"]] = data.get("toolName")
            if child:
                children.add(data["toolCallId"])
    for kind, data, child, event in events_of(raw):
        if kind == "assistant.message" and not child and data.get("content"):
            answer = data["content"]
        elif kind == "assistant.message_delta" and not child:
            streamed.append(data.get("deltaContent") or "")
        elif kind == "tool.execution_complete":
            ok = bool(data.get("success"))
            text = (data.get("result") or {}).get("content") if ok else (data.get("error") or {}).get("message")
            who = "child" if data["toolCallId"] in children or child else "main"
            results.append([who, names.get(data["toolCallId"]), "ok" if ok else "failed", tidy(text)])
        elif kind in ("subagent.started", "subagent.completed", "subagent.failed"):
            told = f"{kind.split('.')[1]} {data.get('agentName')}"
            # The native runtime says `completed` twice.
            if told not in subagents:
                subagents.append(told)
        elif kind == "session.error":
            errors.append(data.get("message"))
        elif kind in ("permission.requested", "external_tool.requested"):
            asked = data.get("permissionRequest") or data
            if asked.get("toolCallId") in children and not event.get("agentId"):
                unnamed.append(kind)
    if raw.get("error"):
        errors.append(raw["error"])
    seen = {
        "answer": tidy(answer),
        "streamed": "".join(streamed),
        "tools": [[call["name"], call["args"]] for call in raw["tools"]],
        "permissions": [named(asked.get("kind"), asked.get("toolName")) for asked in raw["permissions"]],
        "inputs": [[asked.get("question"), asked.get("choices")] for asked in raw["inputs"]],
        "hooks": [named(hook["type"], (hook["input"] or {}).get("toolName")) for hook in raw["hooks"]],
        "hook_args": [
            ["text", json.loads(args)] if isinstance(args, str) else ["object", args]
            for args in (hook["input"].get("toolArgs") for hook in raw["hooks"] if hook["type"] == "preToolUse")
        ],
        "results": sorted(results, key=str),
        "subagents": subagents,
        "unnamed": sorted(set(unnamed)),
        "files": raw.get("files") or {},
        "errors": errors,
    }
    if "history" in raw:
        seen["history"] = [
            (event.get("data") or {}).get("content")
            for event in raw["history"] or []
            if event["type"] == "assistant.message" and (event.get("data") or {}).get("content")
        ]
    return seen


def named(kind, tool):
    return f"{kind}:{tool}" if tool else kind
