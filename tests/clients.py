"""The real clients of PyPI against a running server. Every part that cannot be imported is skipped and says so.

    python3 tests/clients.py http://127.0.0.1:8765 GRAPH -- COMMAND …    the command of the same graph's `kgagent mcp`

Ends with 0 if everything that could run was right.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

BASE, GRAPH = sys.argv[1].rstrip("/"), sys.argv[2]
COMMAND = sys.argv[4:]
QUESTION = "capital of peru?"
DONE = []


def part(needs):
    """Runs a part if its packages can be imported."""

    def run(check):
        try:
            for name in needs:
                __import__(name)
        except ImportError as missing:
            print(f"skipped {check.__name__}: {missing}")
            return check
        check()
        DONE.append(check.__name__)
        print(f"ok {check.__name__}")
        return check

    return run


@part(["openai"])
def openai_client():
    from openai import BadRequestError, NotFoundError, OpenAI

    client = OpenAI(base_url=f"{BASE}/v1", api_key="none")
    model = f"words@{GRAPH}"
    assert model in [one.id for one in client.models.list()]
    turns = [{"role": "user", "content": QUESTION}]
    whole = client.chat.completions.create(model=model, messages=turns)
    assert whole.choices[0].message.content.startswith("**Lima**"), whole
    assert whole._request_id == whole.model_extra["kgagent"]["id"], whole
    text, usage = "", None
    for chunk in client.chat.completions.create(model=model, messages=turns, stream=True, stream_options={"include_usage": True}):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
        usage = chunk.usage or usage
    assert text == whole.choices[0].message.content and usage is not None, (text, usage)
    assert client.completions.create(model=model, prompt=QUESTION).choices[0].text == text
    streamed = client.completions.create(model=model, prompt=QUESTION, stream=True)
    assert "".join(chunk.choices[0].text for chunk in streamed) == text
    try:
        client.chat.completions.create(model="gpt-9", messages=turns)
        raise AssertionError("an unknown model was answered")
    except NotFoundError as error:
        assert error.code == "model_not_found", error
    # Fields that are null, as programs with fixed types send them, and what changes nothing.
    open_fields = dict.fromkeys(("stream", "stop", "n", "tools", "tool_choice", "response_format", "max_tokens", "logprobs", "user"))
    harmless = {"temperature": 0.0, "seed": 7, "user": "u", "store": True, "metadata": {}, "n": 1, "tool_choice": "auto"}
    for fields in (open_fields, harmless):
        again = client.chat.completions.create(model=model, messages=turns, **fields)
        assert again.choices[0].message.content == text, (fields, again)
    chunks = client.chat.completions.create(model=model, messages=turns, stream=True, stream_options={"include_usage": None})
    assert any(chunk.choices[0].delta.content for chunk in chunks)
    # What changes the answer is obeyed or refused.
    short = client.chat.completions.create(model=model, messages=turns, stop=["\n"]).choices[0]
    assert (short.message.content, short.finish_reason) == ("**Lima**", "stop"), short
    short = client.chat.completions.create(model=model, messages=turns, max_tokens=5).choices[0]
    assert (short.message.content, short.finish_reason) == ("**Lima**", "length"), short
    for fields in ({"n": 2}, {"tool_choice": "required"}, {"response_format": {"type": "json_object"}}, {"logprobs": True}):
        try:
            client.chat.completions.create(model=model, messages=turns, **fields)
            raise AssertionError(f"{fields} was ignored")
        except BadRequestError as error:
            assert error.code == "unsupported_value" and next(iter(fields)) in error.message, error


@part(["SPARQLWrapper", "rdflib"])
def sparqlwrapper():
    from SPARQLWrapper import CSV, JSON, JSONLD, POST, TURTLE, SPARQLWrapper
    from SPARQLWrapper.SPARQLExceptions import QueryBadFormed

    def ask(query, form, method=None):
        wrapper = SPARQLWrapper(f"{BASE}/sparql/{GRAPH}")
        wrapper.setQuery(query)
        wrapper.setReturnFormat(form)
        if method:
            wrapper.setMethod(method)
        return wrapper.query().convert()

    select = "SELECT ?x { <http://kgagent.example/peru> <http://kgagent.example/location.country.capital> ?x }"
    for method in (None, POST):
        rows = ask(select, JSON, method)["results"]["bindings"]
        assert rows[0]["x"]["value"] == "http://kgagent.example/lima", rows
    assert ask(select, CSV).decode().split() == ["x", "http://kgagent.example/lima"]
    assert ask("ASK { ?a ?b ?c }", JSON)["boolean"] is True
    construct = "CONSTRUCT { ?x <http://e/of> <http://e/peru> }" + select[9:]
    import rdflib

    assert len(rdflib.Graph().parse(data=ask(construct, TURTLE), format="turtle")) == 1
    assert len(ask(construct, JSONLD)) == 1
    try:
        ask("SELECT", JSON)
        raise AssertionError("a wrong query was answered")
    except QueryBadFormed:
        pass


@part(["SPARQLWrapper", "rdflib"])
def triples_by_default_formats():
    """What SPARQLWrapper and rdflib ask for if nobody chooses a format."""
    import rdflib
    from rdflib.plugins.stores.sparqlstore import SPARQLStore
    from SPARQLWrapper import N3, RDFXML, XML, SPARQLWrapper

    address = f"{BASE}/sparql/{GRAPH}"
    queries = (
        "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 3",
        "DESCRIBE <http://kgagent.example/peru>",
    )
    for query in queries:
        for form in (None, XML, RDFXML, N3):
            wrapper = SPARQLWrapper(address)
            if form:
                wrapper.setReturnFormat(form)
            wrapper.setQuery(query)
            found = wrapper.query().convert()
            if isinstance(found, bytes):
                found = rdflib.Graph().parse(data=found, format="n3")
            assert len(found) >= 3, (query, form, found)
    graph = rdflib.Graph(SPARQLStore(address))
    assert len(list(graph.query(queries[0]))) == 3
    assert len(list(graph.query("SELECT ?s WHERE { ?s ?p ?o } LIMIT 3"))) == 3
    assert graph.query("ASK { ?s ?p ?o }").askAnswer


@part(["rdflib"])
def evidence_by_rdflib():
    import urllib.request

    import rdflib

    def get(path, accept, body=None):
        headers = {"Accept": accept, "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(BASE + path, body, headers)) as reply:
            return reply.read().decode()

    asked = json.loads(get("/api/ask", "*/*", json.dumps({"question": QUESTION}).encode()))
    graphs = []
    for accept, form in (("text/turtle", "turtle"), ("application/ld+json", "json-ld"), ("application/n-triples", "nt")):
        text = get(f"/api/answers/{asked['id']}/evidence", accept)
        graphs.append(set(rdflib.Graph().parse(data=text, format=form)))
    assert len(graphs[0]) == len(asked["answer"]["evidence"]) and graphs[0] == graphs[1] == graphs[2], graphs


@part(["openapi_spec_validator"])
def openapi_by_validator():
    import urllib.request

    from openapi_spec_validator import validate

    with urllib.request.urlopen(f"{BASE}/openapi.json") as reply:
        validate(json.load(reply))


@part(["text2sparql_client", "requests", "pydantic"])
def text2sparql():
    from text2sparql_client.database import Database
    from text2sparql_client.request import text2sparql

    reply = text2sparql(f"{BASE}/text2sparql", f"http://e/{GRAPH}/", QUESTION, 30, Database(Path(tempfile.mkdtemp()) / "responses.db"), False)
    assert "location.country.capital" in reply.query, reply


async def talk(client, newest):
    """Every tool and resource, with the results checked against their schemas by the client."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert len(tools) == 6 and all(tool.output_schema for tool in tools.values())
    seen = []

    async def progress(done, total, message):
        seen.append(message)

    answer = await client.call_tool("ask", {"question": QUESTION}, progress_callback=progress)
    assert answer.structured_content["text"] == "Lima", answer
    assert len(seen) == 3 and "lima" in seen[1], seen
    calls = {
        "search_entities": {"text": "lisb"},
        "describe_entity": {"id": "lisbon"},
        "relations": {"id": "portugal", "relation": "location.city.country", "direction": "in", "limit": 2},
        "run_program": {"program": "v0 = get_tail_entity(lisbon, location.city.country); ans = end(v0)"},
        "sparql": {"query": "SELECT ?x { ?x a ?y }", "limit": 3},
    }
    for name, arguments in calls.items():
        result = await client.call_tool(name, arguments)
        assert not result.is_error and result.structured_content, result
    # Arguments that are null, whole numbers with a fraction, and a query without rows.
    open_arguments = {"question": QUESTION, "entities": None, "graph": None, "model": None, "allow_model_knowledge": None}
    assert (await client.call_tool("ask", open_arguments)).structured_content["text"] == "Lima"
    found = (await client.call_tool("search_entities", {"text": "lisb", "limit": 2.0})).structured_content
    assert len(found["results"]) == 2, found
    truth = (await client.call_tool("sparql", {"query": "ASK { ?a ?b ?c }"})).structured_content
    assert truth["boolean"] is True and "results" not in truth, truth
    wrong = await client.call_tool("describe_entity", {"id": "nowhere"})
    assert wrong.is_error and wrong.content[0].text.startswith("unknown_entity"), wrong
    resources = (await client.list_resources()).resources
    assert len(resources) >= 2
    schema = await client.read_resource(resources[1].uri)
    assert "relations" in json.loads(schema.contents[0].text)
    kept = await client.read_resource(f"kgagent://answers/{answer.structured_content['id']}")
    assert json.loads(kept.contents[0].text)["trace"]
    assert newest == (client.protocol_version == "2026-07-28"), client.protocol_version


@part(["mcp", "mcp.client.client"])
def mcp_client():
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def all_ways():
        for mode in ("legacy", "auto"):
            async with Client(f"{BASE}/mcp", mode=mode) as client:
                await talk(client, mode == "auto")
            if COMMAND:
                process = stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:]))
                async with Client(process, mode=mode) as client:
                    await talk(client, mode == "auto")

    asyncio.run(all_ways())


@part(["langchain_openai"])
def langchain():
    from langchain_openai import ChatOpenAI

    chat = ChatOpenAI(base_url=f"{BASE}/v1", api_key="none", model=f"words@{GRAPH}")
    assert chat.invoke(QUESTION).content.startswith("**Lima**")
    streamed = "".join(part.content for part in chat.stream(QUESTION))
    assert streamed.startswith("**Lima**"), streamed
    said = [("user", "which country is Lisbon in?"), ("assistant", "**Portugal**"), ("user", "what is its capital?")]
    assert chat.invoke(said).content.startswith("**Lisbon**")


@part(["llama_index.llms.openai_like"])
def llamaindex():
    from llama_index.llms.openai_like import OpenAILike

    for is_chat in (False, True):
        model = OpenAILike(model=f"words@{GRAPH}", api_base=f"{BASE}/v1", api_key="none", is_chat_model=is_chat)
        assert str(model.complete(QUESTION)).startswith("**Lima**")
        assert "".join(part.delta or "" for part in model.stream_complete(QUESTION)).startswith("**Lima**")


print(f"{len(DONE)} parts ran")
