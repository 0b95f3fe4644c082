// Carries out scenarios with the Node SDK and prints what it saw, one JSON
// object a line. Everything that the runner compares is raw here: the runner
// alone decides what counts, so that all languages are judged the same way.
//
// Plan file (argv[2]): {provider?, model, token?, timeoutMs, scenarios}.
// The SDK is imported from INTEROP_SDK, so one program serves all versions.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const sdkDir = process.env.INTEROP_SDK;
const { version } = JSON.parse(readFileSync(join(sdkDir, "package.json"), "utf8"));
const { CopilotClient } = await import(pathToFileURL(join(sdkDir, "dist/index.js")).href);
const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));

// SDKs before 0.3 speak protocol 2 words in a permission handler's answer.
const oldWords = version.startsWith("0.1.") || version.startsWith("0.2.");
const ANSWERS = {
  approve: oldWords ? { kind: "approved" } : { kind: "approve-once" },
  deny: oldWords
    ? { kind: "denied-interactively-by-user", feedback: "nope" }
    : { kind: "reject", feedback: "nope" },
};

const HOOKS = [
  "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmitted",
  "UserPromptTransformed", "SessionStart", "SessionEnd", "ErrorOccurred", "AgentStop",
];

function config(scenario, seen) {
  const tools = (scenario.tools ?? []).map((tool) => ({
    name: tool.name,
    description: tool.description,
    parameters: { type: "object", properties: { key: { type: "string" } }, required: ["key"] },
    handler: (args) => {
      seen.tools.push({ name: tool.name, args });
      if (tool.hangs) {
        console.log(JSON.stringify({ hanging: true }));
        return new Promise(() => {});
      }
      if (tool.throws) throw new Error(tool.throws);
      return tool.result.replace("{key}", args.key);
    },
  }));
  const options = {
    model: plan.model,
    provider: plan.provider,
    streaming: scenario.streaming ?? false,
    tools,
    customAgents: scenario.agents,
    onPermissionRequest: (request) => {
      seen.permissions.push(request);
      return ANSWERS[scenario.permission ?? "approve"];
    },
  };
  if (scenario.input) {
    options.onUserInputRequest = (request) => {
      seen.inputs.push(request);
      return scenario.input;
    };
  }
  if (scenario.hooks) {
    options.hooks = Object.fromEntries(HOOKS.map((name) => [
      `on${name}`,
      (input) => {
        seen.hooks.push({ type: name[0].toLowerCase() + name.slice(1), input });
      },
    ]));
  }
  return options;
}

async function run(client, scenario) {
  const seen = { name: scenario.name, tools: [], permissions: [], inputs: [], hooks: [], events: [], error: null };
  try {
    let session = await client.createSession(config(scenario, seen));
    const watch = () => session.on((event) => {
      seen.events.push(event);
    });
    watch();
    for (const [index, prompt] of scenario.prompts.entries()) {
      if (index > 0 && scenario.resume) {
        const { sessionId } = session;
        await leave(session);
        session = await client.resumeSession(sessionId, config(scenario, seen));
        watch();
        const history = await (session.getEvents ?? session.getMessages).call(session);
        seen.history = history;
      }
      await session.sendAndWait({ prompt }, plan.timeoutMs);
    }
    await leave(session);
  } catch (error) {
    seen.error = String(error?.message ?? error);
  }
  seen.files = Object.fromEntries((scenario.files ?? []).map((path) => [path, existsSync(path)]));
  return seen;
}

const leave = (session) => (session.disconnect ?? session.destroy).call(session);

const client = new CopilotClient({
  // SDK 1.x takes the path from the environment, 0.1.x from this option.
  cliPath: process.env.COPILOT_CLI_PATH,
  logLevel: "error",
  githubToken: plan.token,
  gitHubToken: plan.token,
  useLoggedInUser: false,
});
let failed = false;
const fail = (error) => {
  failed = true;
  console.log(JSON.stringify({ fatal: String(error?.message ?? error) }));
};
try {
  await client.start();
  for (const scenario of plan.scenarios) {
    console.log(JSON.stringify(await run(client, scenario)));
  }
} catch (error) {
  fail(error);
}
// What went wrong while stopping is returned, not thrown.
for (const error of (await client.stop()) ?? []) fail(error);
process.exitCode = failed ? 1 : 0;
