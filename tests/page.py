"""The page in a browser: Chromium through Playwright.

    python3 tests/page.py http://127.0.0.1:8765 GRAPH FEEDBACK-FILE [FOLDER FOR SCREENSHOTS]

Without the package `playwright` or a Chromium it says so and ends with 0.
"""

import json
import shutil
import sys
from pathlib import Path

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)
try:
    from axe_playwright_python.sync_playwright import Axe
except ImportError:
    Axe = None

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
if not BROWSER:
    print("skipped: there is no Chromium on this machine")
    sys.exit(0)
BASE, GRAPH, FEEDBACK = sys.argv[1].rstrip("/"), sys.argv[2], Path(sys.argv[3])
SHOTS = Path(sys.argv[4]) if len(sys.argv) > 4 else None
QUESTION = "Which cities are in Portugal?"


def answer(page):
    return page.locator('[data-part="answer"] .answer')


def ask(page, question):
    page.goto(BASE + "/#/")
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
    page.locator("ol.program li").nth(1).focus()
    expect(page.locator(".evidence tbody tr.lit")).not_to_have_count(0)
    accessible(page, "answer")


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
    page.locator("#graph").select_option(GRAPH)


def screenshots(browser):
    for name, width, height, scheme in (("light", 1280, 860, "light"), ("dark", 1280, 860, "dark"), ("phone", 390, 844, "light")):
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce")
        ask(page, QUESTION)
        expect(answer(page)).to_contain_text("Lisbon")
        wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide, f"{name}: the page is wider than the screen"
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
        page.on("request", lambda one: one.url.startswith((BASE, "blob:")) or foreign.append(one.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())
        for part in (asks_and_shows, downloads, shares, opens_sparql, browses, completes, compares, says_what_is_right, hostile_labels_are_text):
            part(page)
            print(f"ok {part.__name__}")
        with open(FEEDBACK) as lines:
            assert all(json.loads(line) for line in lines)
        screenshots(browser)
        print("ok screenshots")
        assert not foreign, foreign
        assert not wrong, wrong
        browser.close()


main()
