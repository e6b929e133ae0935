"""The built documentation: nothing leads nowhere, and in a browser it is fit to be seen.

``make docs`` builds it; where it has not been built, or there is no browser, there is nothing to test.
"""

import shutil
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run".split()
PARTS = ["Start", "Guide", "Examples", "Reference", "About"]
SEEN = [
    *("index", "start", "guide", "reference", "about", "auto_examples/index", "auto_examples/plot_genes"),
    *("which_features", "how_many", "from_selectkbest", "comparison", "criteria", "add_a_criterion", "generated/api"),
]

pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="there are no built docs: make docs")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; such as: apt install chromium")


class Page(HTMLParser):
    """What a page is called within, and what it points to."""

    def __init__(self, path):
        super().__init__()
        self.names, self.targets = set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found[name] for name in ("id", "name") if found.get(name)}
        for name in ("href", "src"):
            if found.get(name):
                self.targets.add(found[name])


@pytest.fixture(scope="module")
def pages():
    return {path: Page(path) for path in SITE.rglob("*.html") if "_static" not in path.parts}


def test_no_link_or_image_leads_nowhere(pages):
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            address = urlsplit(target)
            if address.scheme or address.netloc:
                continue
            goal = (path.parent / unquote(address.path)).resolve() if address.path else path
            there = goal.is_file()
            if there and address.fragment and goal in pages:
                there = unquote(address.fragment) in pages[goal].names
            if not there:
                broken.append((path.relative_to(SITE).as_posix(), target))
    assert broken == []
    assert len(pages) > 60


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Nobody reads a log of it."""


@pytest.fixture(scope="module")
def address():
    """The site as it is served: the search fetches pages, which a browser does not do from files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(SITE)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, address):
    """An empty page; nothing may go wrong in what it is led to, and nobody else is asked for anything."""
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    errors = []
    page.on("request", lambda request: request.url.startswith(address) or errors.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_show_their_images_and_fit_the_window(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    for name in SEEN if width > 1000 else SEEN[::2]:
        page.goto(f"/{name}.html")
        unseen = page.eval_on_selector_all("img", "all => all.filter(i => !i.naturalWidth).map(i => i.src)")
        assert unseen == [], name
        beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 1, name
        if width > 1000:
            wide = page.eval_on_selector_all(
                ".bd-article div.highlight pre",
                "all => all.filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.textContent.slice(0, 60))",
            )
            assert wide == [], name


@needs_browser
def test_the_parts_are_one_click_away(page):
    page.goto("/index.html")
    names = page.eval_on_selector_all(".bd-header .navbar-nav .nav-link", "all => all.map(a => a.textContent.trim())")
    assert [name for name in names if name in PARTS] == PARTS
    page.locator(".bd-header .navbar-nav .nav-link", has_text="Guide").first.click()
    page.wait_for_url("**/guide.html")
    page.locator(".bd-sidebar-primary a", has_text="How many features?").wait_for(state="visible")


@needs_browser
def test_search_finds_redundancy(page):
    page.goto("/search.html?q=redundancy")
    page.wait_for_selector("#search-results ul.search li", timeout=20_000)
    page.wait_for_load_state("networkidle")
    found = page.eval_on_selector_all("#search-results ul.search li a", "all => all.map(a => a.getAttribute('href'))")
    assert any("redundancy.html" in link for link in found)
