"""A scripted model on loopback, spoken to as OpenAI chat completions.

It keeps no state: the user prompt carries `STEPS:` and a JSON list, and the
answer to a request is step N, where N is the number of assistant messages
after that prompt. A step is a text, or a list of tool calls `{name, args}`.
The `prompt` argument of a `task` call may carry steps of its own, so one
string scripts a whole tree of agents, and any number of runs share a server.

In a text, `{last}` stands for what the last tool call gave the model, and
`{earlier}` for the last thing the assistant said before this prompt: what
reached the model becomes visible in the answer.
"""

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MARK = "STEPS:"

# Runtimes that look the model up first (COPILOT_API_URL on CLI 0.0.420) want
# to see a name that they know, with limits and the tool-call capability.
MODELS = [
    {
        "id": name,
        "name": name,
        "object": "model",
        "vendor": "scripted",
        "version": name,
        "preview": False,
        "model_picker_enabled": True,
        "policy": {"state": "enabled"},
        "supported_endpoints": ["/chat/completions"],
        "capabilities": {
            "type": "chat",
            "family": name,
            "object": "model_capabilities",
            "tokenizer": "o200k_base",
            "limits": {
                "max_context_window_tokens": 200000,
                "max_prompt_tokens": 128000,
                "max_output_tokens": 16000,
            },
            "supports": {"streaming": True, "tool_calls": True, "parallel_tool_calls": True},
        },
    }
    for name in ("claude-sonnet-4.5", "scripted")
]


def text_of(content):
    """The text of a message whose content is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return ""


def answer(messages):
    """The step that a conversation has come to, with its placeholders filled."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        text = text_of(message.get("content"))
        if message.get("role") == "user" and MARK in text:
            break
    else:
        return "no script"
    # Runtimes put text of their own before and after the prompt.
    steps, _ = json.JSONDecoder().raw_decode(text[text.index(MARK) + len(MARK):])
    after = messages[at + 1:]
    done = sum(1 for m in after if m.get("role") == "assistant")
    if done >= len(steps):
        return "script over"
    step = steps[done]
    if isinstance(step, str):
        said = [text_of(m.get("content")) for m in messages[:at] if m.get("role") == "assistant"]
        got = [text_of(m.get("content")) for m in after if m.get("role") == "tool"]
        step = step.replace("{last}", got[-1] if got else "nothing")
        step = step.replace("{earlier}", said[-1] if said else "nothing")
    return step


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0].rstrip("/")
        self.server.note("GET", path)
        if path.endswith("/models"):
            self.reply({"object": "list", "data": MODELS})
        elif path.endswith("/user"):
            # Who the token belongs to, as CLIs ask before they use it.
            base = f"http://127.0.0.1:{self.server.server_port}"
            self.reply({
                "login": "scripted",
                "copilot_plan": "individual_pro",
                "chat_enabled": True,
                "endpoints": {"api": base, "telemetry": base},
            })
        else:
            self.reply({"error": {"message": f"no such path {path}"}}, 404)

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        path = self.path.split("?")[0].rstrip("/")
        self.server.note("POST", path)
        if not path.endswith("/chat/completions"):
            self.reply({"error": {"message": f"no such path {path}"}}, 404)
            return
        request = json.loads(raw)
        step = answer(request["messages"])
        self.server.note("ANSWER", json.dumps(step)[:200])
        number = next(self.server.counter)
        head = {
            "id": f"chatcmpl-{number}",
            "created": 1,
            "model": request.get("model", "scripted"),
        }
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        calls = None
        if not isinstance(step, str):
            calls = [
                {
                    "index": index,
                    "id": f"call_{number}_{index}",
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
                }
                for index, call in enumerate(step)
            ]
        finish = "tool_calls" if calls else "stop"
        if request.get("stream"):
            self.stream(head, step, calls, finish, usage)
            return
        message = {"role": "assistant", "content": None if calls else step}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": finish}
        self.reply({**head, "object": "chat.completion", "choices": [choice], "usage": usage})

    def stream(self, head, step, calls, finish, usage):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        # The end of the answer is the end of the connection.
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        deltas = [{"role": "assistant", "tool_calls": calls}] if calls else [
            {"role": "assistant", "content": word} for word in words(step)
        ]
        chunks = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        chunks.append({"choices": [], "usage": usage})
        for chunk in chunks:
            data = json.dumps({**head, "object": "chat.completion.chunk", **chunk})
            self.wfile.write(f"data: {data}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")


def words(text):
    """The text in pieces that add up to it."""
    pieces = text.split(" ")
    return [piece + " " for piece in pieces[:-1]] + [pieces[-1]]


class Model(ThreadingHTTPServer):
    daemon_threads = True
    # Runtimes open several connections at once; the default backlog is 5.
    request_queue_size = 64

    def __init__(self, port=0, log=None):
        super().__init__(("127.0.0.1", port), Handler)
        self.counter = itertools.count(1)
        self.log = log
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def note(self, *words_):
        if self.log:
            with self.lock:
                print("model:", *words_, file=self.log, flush=True)

    def handle_error(self, request, client_address):
        # A runtime that goes away in the middle of an answer is no news.
        pass

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"
