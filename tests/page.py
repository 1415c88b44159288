"""The page in a browser: Chromium through Playwright.

    python3 tests/page.py http://127.0.0.1:8765 GRAPH FEEDBACK-FILE [--shots FOLDER] [--serve kgagent serve --workers 1 --kg GRAPH]

`--serve` starts a server that is kept busy, killed and started again. Without the package `playwright` or a Chromium it says so
and ends with 0.
"""

import argparse
import http.server
import json
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)
try:
    from axe_playwright_python.sync_playwright import Axe
except ImportError as missing:
    print(f"skipped: accessibility: {missing}")
    Axe = None

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
if not BROWSER:
    print("skipped: there is no Chromium on this machine")
    sys.exit(0)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("base")
parser.add_argument("graph")
parser.add_argument("feedback", type=Path)
parser.add_argument("--shots", type=Path)
parser.add_argument("--serve", nargs=argparse.REMAINDER, default=[])
ARGS = parser.parse_args()
BASE, GRAPH, FEEDBACK, SHOTS = ARGS.base.rstrip("/"), ARGS.graph, ARGS.feedback, ARGS.shots
QUESTION = "Which cities are in Portugal?"
LONG_QUESTION = "Of the teams Cristiano Ronaldo was at in 2011, which was founded most recently?"


def answer(page):
    return page.locator('[data-part="answer"] .answer')


def ask(page, question, base=BASE):
    page.goto(base + "/#/")
    page.locator("#question").fill(question)
    page.keyboard.press("Escape")
    page.locator("#send").click()
    page.locator("#send").wait_for(state="visible")


def accessible(page, where):
    if Axe is None:
        return
    found = Axe().run(page).response["violations"]
    bad = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
    assert not bad, (where, bad, json.dumps([one["nodes"][:2] for one in found if one["id"] in bad])[:2000])


def asks_and_shows(page):
    ask(page, QUESTION)
    expect(answer(page)).to_contain_text("Lisbon")
    assert "#/answer/" in page.url
    expect(page.locator("ol.program li")).not_to_have_count(0)
    rows = page.locator(".evidence table tbody tr")
    rows.first.hover()
    expect(page.locator(".evidence .lit")).not_to_have_count(0)
    page.mouse.move(0, 0)
    page.locator("ol.program li").nth(1).hover()
    expect(page.locator(".evidence .edge.lit")).not_to_have_count(0)
    page.mouse.move(0, 0)
    page.locator("ol.program li").nth(1).focus()
    expect(page.locator(".evidence tbody tr.lit")).not_to_have_count(0)
    accessible(page, "answer")


# What the page shows after each change: the number of steps, and whether there is an answer.
WATCH = """() => {
  window.seen = [];
  const note = () => seen.push([document.querySelectorAll("ol.program li").length, document.querySelectorAll(".answer").length]);
  new MutationObserver(note).observe(document.querySelector("#result"), { childList: true, subtree: true });
}"""


def streams(page):
    page.goto(BASE + "/#/")
    page.evaluate(WATCH)
    ask(page, QUESTION)
    expect(answer(page)).to_contain_text("Lisbon")
    seen = page.evaluate("window.seen")
    assert any(steps > 0 and not answers for steps, answers in seen), f"no step before the answer: {seen}"


def says_why_there_is_no_answer(page):
    ask(page, "who is the mayor of Lisbon?")
    expect(answer(page)).to_contain_text("The graph has no answer")
    expect(page.locator(".why")).to_contain_text("Step 1: get_relation(lisbon)")
    expect(page.locator("#result")).to_contain_text("nothing in the best program that was not chosen explains “mayor”")
    expect(page.locator(".candidates")).to_contain_text("closest")
    accessible(page, "no answer")


SHIFTS = """() => {
  window.shifts = [];
  const own = (entries) => entries.map((one) => [one.value, one.sources.map((source) => source.node?.className ?? "")]);
  new PerformanceObserver((list) => shifts.push(...own(list.getEntries()))).observe({ type: "layout-shift" });
}"""


def does_not_jump(page):
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 860})
        # The first question takes the place of the list of earlier ones on a phone.
        ask(page, QUESTION)
        page.evaluate(SHIFTS)
        for question in ("capital of peru?", "who is the mayor of Lisbon?", "capital of chile?"):
            ask(page, question)
            expect(answer(page)).to_be_visible()
        page.wait_for_timeout(100)
        shifts = page.evaluate("window.shifts")
        assert sum(value for value, _ in shifts) < 0.02, (width, shifts)
    page.set_viewport_size({"width": 1280, "height": 860})


def downloads(page):
    for label, text in (("Turtle", "@prefix"), ("JSON-LD", '"@id"'), ("Trace", '"event":"observe"')):
        with page.expect_download() as saved:
            page.get_by_role("button", name=label, exact=True).click()
        assert text in Path(saved.value.path()).read_text(), label


def shares(page):
    other = page.context.new_page()
    other.goto(page.url)
    expect(answer(other)).to_contain_text("Lisbon")
    other.close()


def opens_sparql(page):
    page.get_by_role("link", name="Open as SPARQL").click()
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#rows")).to_contain_text("lisbon")
    accessible(page, "sparql")


def browses(page):
    page.goto(f"{BASE}/#/browse/{GRAPH}/portugal")
    expect(page.locator("#entity")).to_contain_text("Portugal")
    accessible(page, "entity")


def completes(page):
    page.goto(BASE + "/#/")
    page.locator("#question").fill("")
    page.locator("#question").press_sequentially("capital of Per", delay=20)
    expect(page.locator("#question-list li").first).to_contain_text("Peru")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#topics")).to_contain_text("Peru")
    page.keyboard.press("Enter")
    expect(answer(page)).to_contain_text("Lima")


def tab_to(page, what):
    """Presses Tab until this has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("what => document.activeElement.matches(what)", what):
            return
    raise AssertionError(f"the Tab key does not reach {what}")


def works_by_keyboard_alone(page):
    page.goto("about:blank")
    page.goto(BASE + "/")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type("capital of Per", delay=20)
    expect(page.locator("#question-list li").first).to_contain_text("Peru")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(answer(page)).to_contain_text("Lima")
    tab_to(page, "ol.program li:nth-child(2)")
    expect(page.locator(".evidence tbody tr.lit")).not_to_have_count(0)
    tab_to(page, "#result a[href^='#/sparql']")
    page.keyboard.press("Enter")
    tab_to(page, "#query")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#rows")).to_contain_text("lima")
    tab_to(page, "nav a[data-view='browse']")
    page.keyboard.press("Enter")
    expect(page.locator("#lookup")).to_be_visible()


def compares(page):
    page.goto(BASE + "/#/")
    page.locator("#question").fill("capital of peru?")
    page.keyboard.press("Escape")
    page.locator("#compare").click()
    page.locator("#send").wait_for(state="visible")
    rows = page.locator('[data-part="comparison"] tbody tr')
    expect(rows).to_have_count(page.locator("#agent option").count())
    words = rows.filter(has=page.locator("th", has_text="words"))
    expect(words).to_contain_text("Lima")
    accessible(page, "comparison")
    words.get_by_role("link", name="Show").click()
    expect(answer(page)).to_contain_text("Lima")


def says_what_is_right(page):
    ask(page, QUESTION)
    page.get_by_role("button", name="Right", exact=True).click()
    expect(page.get_by_text("Kept, thank you.")).to_be_visible()
    assert QUESTION in FEEDBACK.read_text()


def hostile_labels_are_text(page):
    if page.locator("#graph option", has_text="hostile").count() == 0:
        return
    page.goto(f"{BASE}/#/browse/hostile/evil")
    expect(page.locator("#entity")).to_contain_text("<script>alert(1)</script>")
    ask(page, "what is the capital of Evilland <img src=x onerror=alert(1)>?")
    expect(page.locator('[data-part="answer"] .asked')).to_contain_text("<img src=x")
    assert page.locator("main script, main img").count() == 0
    page.goto(f"{BASE}/#/browse/hostile/huge")
    expect(page.locator("#entity")).to_contain_text("Huge long long")
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide, "a long label makes the page wide"
    page.locator("#graph").select_option(GRAPH)


class OwnServer:
    """A server of one thread that can be kept busy and killed."""

    def __init__(self, port=0):
        command = [*ARGS.serve, "--listen", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base = self.process.stdout.readline().split()[-1].rstrip("/")
        self.port = int(self.base.rsplit(":", 1)[1])

    def keep_busy(self):
        """A query that lasts as long as this connection."""
        query = b"SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }"
        graph = json.loads(self.get("/api/graphs"))["graphs"][0]["name"]
        asker = socket.create_connection(("127.0.0.1", self.port))
        head = f"POST /sparql/{graph} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-query\r\nContent-Length: {len(query)}\r\n\r\n"
        asker.sendall(head.encode() + query)
        return asker

    def get(self, path):
        with urllib.request.urlopen(self.base + path) as reply:
            return reply.read().decode()

    def kill(self):
        self.process.kill()
        self.process.wait()


def stops_and_survives_a_restart(page):
    if not ARGS.serve:
        return print("skipped: stop and restart: no --serve")
    server = OwnServer()
    try:
        ask(page, "capital of peru?", server.base)
        expect(answer(page)).to_contain_text("Lima")
        asker = server.keep_busy()
        page.locator("#question").fill("capital of chile?")
        page.keyboard.press("Escape")
        page.locator("#send").click()
        expect(page.locator("#send")).to_be_hidden()
        page.locator("#stop").click()
        expect(page.locator("#result")).to_contain_text("Stopped.")
        asker.close()
        stopped = 'kgagent_questions_total{outcome="cancelled"} 1'
        for _ in range(100):
            if stopped in server.get("/metrics"):
                break
            page.wait_for_timeout(50)
        assert stopped in server.get("/metrics")
        server.kill()
        page.locator("#send").click()
        page.locator("#send").wait_for(state="visible")
        expect(page.locator("#result")).to_contain_text("The server does not answer.")
        server = OwnServer(server.port)
        page.locator("#send").click()
        expect(answer(page)).to_contain_text("Santiago")
        expect(page.locator("#history")).to_contain_text("capital of peru?")
    finally:
        server.kill()


# Every way in which a page can make its browser send a request, and what it gets to see of the reply.
FOREIGN = """async (base) => {
  const query = (text) => "?query=" + encodeURIComponent(text);
  const count = query("SELECT (COUNT(*) AS ?n) { ?a ?b ?c }");
  const paths = ["/sparql/GRAPH" + count, "/text2sparql?dataset=GRAPH&question=" + encodeURIComponent("capital of peru?")];
  const got = [];
  const read = (what, work) => work.then((text) => got.push([what, text]), () => {});
  const loads = (kind, path, fields) => new Promise((done) => {
    const one = Object.assign(document.createElement(kind), fields(base + path));
    one.onload = () => { got.push([kind, path]); done(); };
    one.onerror = done;
    document.body.append(one);
    setTimeout(done, 1500);
  });
  const work = [];
  for (const path of paths) {
    for (const mode of ["cors", "no-cors"]) {
      for (const method of ["GET", "HEAD"]) work.push(read(mode, fetch(base + path, { mode, method }).then((reply) => reply.text()).then((text) => text || Promise.reject())));
    }
    work.push(read("xhr", new Promise((done, failed) => {
      const ask = new XMLHttpRequest();
      ask.open("GET", base + path);
      ask.onload = () => done(ask.responseText);
      ask.onerror = failed;
      ask.send();
    })));
    work.push(read("events", new Promise((done, failed) => {
      const events = new EventSource(base + path);
      events.onopen = () => done("open");
      events.onerror = () => { events.close(); failed(); };
    })));
    work.push(read("socket", new Promise((done, failed) => {
      const socket = new WebSocket(base.replace("http", "ws") + path);
      socket.onopen = () => done("open");
      socket.onerror = failed;
    })));
    for (const kind of ["img", "script", "audio", "video"]) work.push(loads(kind, path, (src) => ({ src })));
    work.push(loads("link", path, (href) => ({ rel: "stylesheet", href })));
    work.push(loads("link", path, (href) => ({ rel: "prefetch", href })));
    // These are loaded even if they are refused, as frames are; only the server knows.
    document.body.append(Object.assign(document.createElement("embed"), { src: base + path }));
    document.body.append(Object.assign(document.createElement("object"), { data: base + path }));
  }
  const post = (type, body) => fetch(base + "/sparql/GRAPH", { method: "POST", mode: "no-cors", headers: { "Content-Type": type }, body });
  work.push(post("application/x-www-form-urlencoded", count.slice(1)).catch(() => {}));
  work.push(post("text/plain", "ASK {}").catch(() => {}));
  navigator.sendBeacon(base + "/sparql/GRAPH", new URLSearchParams(count.slice(1)));
  for (const method of ["get", "post"]) {
    const frame = Object.assign(document.createElement("iframe"), { name: method });
    const form = Object.assign(document.createElement("form"), { method, action: base + "/sparql/GRAPH", target: method });
    form.append(Object.assign(document.createElement("input"), { name: "query", value: "SELECT * { ?a ?b ?c } LIMIT 3" }));
    document.body.append(frame, form);
    form.submit();
  }
  const frame = document.createElement("iframe");
  frame.src = base + paths[0];
  document.body.append(frame);
  await Promise.all(work);
  await new Promise((done) => setTimeout(done, 500));
  return got;
}"""


def gives_pages_of_other_sites_nothing(playwright):
    """A page of another site, one of another port of this machine, and one whose name leads to the server."""
    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>other</title><body>")

        def log_message(self, *args):
            pass

    def counted():
        lines = urllib.request.urlopen(f"{BASE}/metrics").read().decode().splitlines()
        return [line for line in lines if line.startswith(("kgagent_queries_total", "kgagent_questions_total"))]

    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    port, own = other.server_address[1], BASE.rsplit(":", 1)[1]
    names = "--host-resolver-rules=MAP *.example 127.0.0.1"
    browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", names])
    try:
        before = counted()
        for site in (f"http://evil.example:{port}", f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
            for target in (BASE, f"http://localhost:{own}", f"http://0.0.0.0:{own}", f"http://[::ffff:127.0.0.1]:{own}"):
                page = browser.new_page()
                page.goto(site)
                got = page.evaluate(FOREIGN.replace("GRAPH", GRAPH), target)
                assert not got, (site, target, got)
                # A link of that page, and a window that it opens.
                page.evaluate("there => { const link = document.createElement('a'); link.href = there; document.body.append(link); link.click(); }", f"{target}/sparql/{GRAPH}?query=ASK%7B%7D")
                page.wait_for_timeout(300)
                assert "boolean" not in page.content(), (site, target)
                page.close()
        assert counted() == before, (before, counted())
        # The name of the other site leads to the server itself (DNS rebinding).
        page = browser.new_page()
        page.goto(f"http://evil.example:{own}/")
        assert '"host"' in page.content(), page.content()
        text = page.evaluate("there => fetch(there).then((reply) => reply.text())", f"/sparql/{GRAPH}?query=ASK%7B%7D")
        assert '"host"' in text and counted() == before, text
        # A link opens the page, which works as always.
        page.goto(f"http://evil.example:{port}")
        page.evaluate("there => { const link = document.createElement('a'); link.href = there; document.body.append(link); link.click(); }", f"{BASE}/#/browse/{GRAPH}/portugal")
        expect(page.locator("#entity")).to_contain_text("Portugal")
        page.locator("nav a[data-view='sparql']").click()
        assert page.evaluate("there => fetch(there).then((reply) => reply.status)", f"/sparql/{GRAPH}?query=ASK%7B%7D") == 200
        assert counted() != before
    finally:
        browser.close()
        other.shutdown()


def screenshots(browser):
    for name, width, height, scheme in (("light", 1280, 1330, "light"), ("dark", 1280, 1330, "dark"), ("phone", 390, 1640, "light")):
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce")
        ask(page, LONG_QUESTION)
        expect(answer(page)).to_contain_text("Portugal national team")
        expect(page.locator(".evidence .node.answer")).to_contain_text("Portugal national team")
        wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide, f"{name}: the page is wider than the screen"
        accessible(page, name)
        if SHOTS:
            page.screenshot(path=SHOTS / f"{name}.png")
        page.close()


def main():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        context = browser.new_context(accept_downloads=True)
        page = context.new_page()
        page.set_default_timeout(15_000)
        foreign, wrong = [], []
        own = ("http://127.0.0.1:", "blob:http://127.0.0.1:", "about:blank")
        context.on("request", lambda one: one.url.startswith(own) or foreign.append(one.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())
        for part in (
            asks_and_shows, downloads, shares, opens_sparql, browses, completes, works_by_keyboard_alone, compares,
            streams, says_why_there_is_no_answer, does_not_jump, says_what_is_right, hostile_labels_are_text,
            stops_and_survives_a_restart,
        ):
            part(page)
            print(f"ok {part.__name__}")
        with open(FEEDBACK) as lines:
            assert all(json.loads(line) for line in lines)
        screenshots(browser)
        print("ok screenshots")
        gives_pages_of_other_sites_nothing(playwright)
        print("ok gives_pages_of_other_sites_nothing")
        assert not foreign, foreign
        assert not wrong, wrong
        browser.close()


main()
