"""A chat server without a model: it writes random text that the constraint of a request allows.

The constraint is read by xgrammar, the engine of vLLM and SGLang, so a reply shows what those servers would allow:

    pip install xgrammar            # with torch; or --no-deps with apache-tvm-ffi, numpy and pydantic
    python xgrammar_server.py 8123 structured_outputs|ebnf|response_format|none
    kgagent eval --model http://127.0.0.1:8123/v1 --constraint structured-outputs|ebnf|json-schema ...

`none` ignores every constraint, as a server does that does not know the field. Replies depend on the request alone.

    python xgrammar_server.py 8123 structured_outputs --types vllm        # or ebnf --types sglang

refuses a request that the installed package's own type does not accept, or that has a field which it does not know. Only
the package's source is needed (`pip install --no-deps`) and what it imports, torch included."""

import json
import random
import sys
import types
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tvm_ffi  # noqa: F401  It looks for torch, so it comes before the stand-ins below.

try:
    import torch  # noqa: F401
except ImportError:
    # Grammars need neither library, but xgrammar imports both.
    class StandIn(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {}) if name[0].isupper() or name in ("dtype", "device") else StandIn(name)

        def __call__(self, *given, **_):
            return given[0] if given and callable(given[0]) else self

    for name in ("torch", "transformers", "triton", "triton.language"):
        sys.modules[name] = StandIn(name)

import xgrammar

BYTES = [bytes([b]) for b in range(256)]
INFO = xgrammar.TokenizerInfo([bytes([b]) for b in range(256)] + [b"</s>"], stop_token_ids=[256])
COMPILER = xgrammar.GrammarCompiler(INFO)
LONGEST = 4000


def grammar(body, field):
    """The compiled constraint of a request; None without one in `field`."""
    given = body.get(field)
    if given is None:
        return None
    if field == "response_format":
        schema = json.dumps(given["json_schema"]["schema"])
        return COMPILER.compile_json_schema(schema, any_whitespace=False)
    return COMPILER.compile_grammar(given["grammar"] if field == "structured_outputs" else given)


def text(compiled, seed):
    """Random text in the language of a grammar."""
    draw, matcher, written = random.Random(seed), xgrammar.GrammarMatcher(compiled), b""
    while len(written) < LONGEST:
        ways = [b for b in range(256) if matcher.accept_token(b) and (matcher.rollback(1) or True)]
        ends = matcher.accept_token(256) and (matcher.rollback(1) or True)
        if ends and (not ways or draw.random() < 0.3):
            break
        if not ways:
            break
        byte = draw.choice(ways)
        matcher.accept_token(byte)
        written += bytes([byte])
    return written.decode("utf-8", "replace")


def request_types(package):
    """The types of requests by the last part of their path."""
    if package == "vllm":
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
        from vllm.entrypoints.openai.completion.protocol import CompletionRequest
    else:
        from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest, CompletionRequest
    return {"/v1/chat/completions": ChatCompletionRequest, "/v1/completions": CompletionRequest}


TYPES = request_types(sys.argv[4]) if sys.argv[3:4] == ["--types"] else {}


def complaint(path, body):
    """What the package says against a request; None if it accepts it."""
    kind = TYPES.get(path)
    if kind is None:
        return None
    unknown = set(body) - {name for key, field in kind.model_fields.items() for name in (key, field.alias)}
    if unknown:
        return f"unknown fields: {sorted(unknown)}"
    try:
        kind.model_validate(body)
    except ValueError as error:
        return str(error)
    return None


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        problem = complaint(self.path, json.loads(body))
        if problem:
            self.answer(400, {"error": {"message": problem}})
            return
        compiled = grammar(json.loads(body), sys.argv[2])
        said = text(compiled, zlib.crc32(body)) if compiled else "yes"
        usage = {"prompt_tokens": len(body), "completion_tokens": len(said)}
        chat = {"message": {"role": "assistant", "content": said}}
        choice = {**(chat if "/chat/" in self.path else {"text": said}), "finish_reason": "stop"}
        self.answer(200, {"choices": [choice], "usage": usage})

    def answer(self, status, body):
        reply = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
