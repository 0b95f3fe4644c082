"""Carries out scenarios with the Python SDK and prints what it saw.

The Python twin of `node/program.mjs`: same plan file, same output lines. Run
it with the interpreter of the environment that has the SDK version in it.
"""

import asyncio
import json
import logging
import os
import sys
from importlib.metadata import version

import copilot

# SDK 0.1.x takes dictionaries and speaks protocol 2 words; 1.x takes keywords.
OLD = version("github-copilot-sdk").startswith("0.")

# SDK 1.x tries session.sendAndWait first and logs the refusal with a traceback.
logging.getLogger("copilot").setLevel(logging.CRITICAL)

HOOKS = [
    "pre_tool_use", "post_tool_use", "post_tool_use_failure", "user_prompt_submitted",
    "user_prompt_transformed", "session_start", "session_end", "error_occurred", "agent_stop",
]


def permission_answer(how):
    if OLD:
        return {"kind": "approved"} if how == "approve" else {
            "kind": "denied-interactively-by-user", "feedback": "nope",
        }
    from copilot.rpc import PermissionDecisionApproveOnce, PermissionDecisionReject

    return PermissionDecisionApproveOnce() if how == "approve" else PermissionDecisionReject(feedback="nope")


def plain(value):
    """A wire-shaped value of whatever the SDK hands to a handler."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return value


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def make_tool(spec, seen):
    from copilot.tools import Tool

    def handler(invocation):
        arguments = invocation["arguments"] if OLD else invocation.arguments
        seen["tools"].append({"name": spec["name"], "args": arguments})
        if "throws" in spec:
            raise RuntimeError(spec["throws"])
        text = spec["result"].replace("{key}", arguments["key"])
        if OLD:
            return {"textResultForLlm": text, "resultType": "success"}
        from copilot.tools import ToolResult

        return ToolResult(text_result_for_llm=text, result_type="success")

    return Tool(
        name=spec["name"],
        description=spec["description"],
        handler=handler,
        parameters={"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
    )


def make_hook(name, seen):
    def hook(given, _invocation):
        seen["hooks"].append({"type": camel(name), "input": given})

    return hook


def agent_config(agent):
    names = {"displayName": "display_name"}
    return {names.get(key, key): value for key, value in agent.items()}


def config(plan, scenario, seen):
    def on_permission(request, _invocation):
        seen["permissions"].append(plain(request))
        return permission_answer(scenario.get("permission", "approve"))

    def on_input(request, _invocation):
        seen["inputs"].append(plain(request))
        return scenario["input"]

    options = {
        "model": plan["model"],
        "streaming": scenario.get("streaming", False),
        "tools": [make_tool(spec, seen) for spec in scenario.get("tools", [])],
        "on_permission_request": on_permission,
    }
    if plan.get("provider"):
        given = plan["provider"]
        options["provider"] = {
            "type": given["type"], "base_url": given["baseUrl"], "api_key": given["apiKey"],
        }
    if scenario.get("agents"):
        options["custom_agents"] = [agent_config(agent) for agent in scenario["agents"]]
    if scenario.get("input"):
        options["on_user_input_request"] = on_input
    if scenario.get("hooks"):
        options["hooks"] = {f"on_{name}": make_hook(name, seen) for name in HOOKS}
    return options


async def create(client, options):
    return await (client.create_session(options) if OLD else client.create_session(**options))


async def resume(client, session_id, options):
    if OLD:
        return await client.resume_session(session_id, options)
    return await client.resume_session(session_id, **options)


async def send(session, prompt, seconds):
    if OLD:
        await session.send_and_wait({"prompt": prompt}, timeout=seconds)
    else:
        await session.send_and_wait(prompt, timeout=seconds)


async def leave(session):
    await (session.destroy() if OLD else session.disconnect())


async def run(client, plan, scenario):
    seen = {"name": scenario["name"], "tools": [], "permissions": [], "inputs": [],
            "hooks": [], "events": [], "error": None}

    def watch(event):
        seen["events"].append(plain(event))

    try:
        session = await create(client, config(plan, scenario, seen))
        session.on(watch)
        for index, prompt in enumerate(scenario["prompts"]):
            if index and scenario.get("resume"):
                session_id = session.session_id
                await leave(session)
                session = await resume(client, session_id, config(plan, scenario, seen))
                session.on(watch)
                history = await (session.get_messages() if OLD else session.get_events())
                seen["history"] = [plain(event) for event in history]
            await send(session, prompt, plan["timeoutMs"] / 1000)
        await leave(session)
    except Exception as error:  # what went wrong is what is compared
        seen["error"] = f"{type(error).__name__}: {error}"
    seen["files"] = {path: os.path.exists(path) for path in scenario.get("files", [])}
    return seen


def make_client(plan):
    token = {"github_token": plan["token"]} if plan.get("token") else {"use_logged_in_user": False}
    if OLD:
        path = os.environ["COPILOT_CLI_PATH"]
        return copilot.CopilotClient({"cli_path": path, "log_level": "error", **token})
    return copilot.CopilotClient(log_level="error", **token)


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    client = make_client(plan)
    failed = False
    try:
        await client.start()
        for scenario in plan["scenarios"]:
            seen = await run(client, plan, scenario)
            print(json.dumps(seen, default=str), flush=True)
    except Exception as error:
        failed = True
        print(json.dumps({"fatal": f"{type(error).__name__}: {error}"}), flush=True)
    await client.stop()
    return 1 if failed else 0


sys.exit(asyncio.run(main()))
