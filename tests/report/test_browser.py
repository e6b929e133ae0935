"""The report in a browser."""

import ast
import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("vl_convert")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium; install it, such as: apt install chromium"
)

ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run"
).split()
DRAWN = "Object.keys(window.views || {}).length === 5"
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>']


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with hostile names, whose order depends on beta."""
    import pandas as pd

    from unirel import BURSelector
    from unirel.report import Origin, Report

    rng = np.random.default_rng(5)
    a, b, c, d, e = rng.standard_normal((5, 200))
    columns = {HOSTILE[0]: a, "copy": a + 0.05 * e, HOSTILE[1]: b, "Größe": c, "noise": d, "weak": e + 0.1 * b}
    y = 2 * a + b + 0.1 * c > 0
    origin = Origin(source="<i>file</i>.csv", target='"><img src=x onerror=alert(1)>')
    report = Report.from_data(pd.DataFrame(columns), y, selector=BURSelector("mim", 4), origin=origin, accuracy="knn")
    return report.save(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opened(browser, report):
    """The page, once its charts are drawn, and what it has said, asked for and popped up."""
    page = browser.new_context().new_page()
    seen = {"messages": [], "requests": [], "dialogs": []}
    page.on("console", lambda message: seen["messages"].append(message.text))
    page.on("pageerror", lambda error: seen["messages"].append(str(error)))
    page.on("request", lambda request: seen["requests"].append(request.url))
    page.on("dialog", lambda dialog: (seen["dialogs"].append(dialog.message), dialog.dismiss()))
    page.goto(Path(report).as_uri())
    page.wait_for_function(DRAWN, timeout=30_000)
    yield page, seen
    page.context.close()


@pytest.fixture
def page(opened, report):
    """The page as it was opened; nothing may go wrong and nothing may be asked for."""
    page, seen = opened
    places = {chart: page.locator(f"#chart-{chart} input[type=range]").input_value() for chart in ("order", "accuracy")}
    yield page
    assert seen["messages"] == []
    assert seen["dialogs"] == []
    assert set(seen["requests"]) == {Path(report).as_uri()}
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(media="null", color_scheme="null")
    page.get_by_label("Search by name").fill("")
    for chart, place in places.items():
        if page.locator(f"#chart-{chart} input[type=range]").input_value() != place:
            move_slider(page, chart, place)


def bars(page):
    """Names in the chart of the order, from top to bottom."""
    return page.evaluate(
        """() => Array.from(document.querySelectorAll('#chart-order .role-axis-label text'))
            .map(e => [e.getBoundingClientRect().top, e.textContent, e.getBoundingClientRect().left])
            .filter(([top, text]) => isNaN(Number(text.replace('\\u2212', '-'))))
            .sort((a, b) => a[0] - b[0]).map(([top, text]) => text)"""
    )


def names(page):
    return page.eval_on_selector_all("#features tbody tr:not([hidden]) th", "cells => cells.map(c => c.textContent)")


def test_loads_without_errors_or_requests(page):
    for chart in ("order", "curve", "accuracy", "points", "heat"):
        box = page.locator(f"#chart-{chart} svg").bounding_box()
        assert box["width"] > 200
        assert box["height"] > 100


def test_hostile_names_are_text(page):
    assert set(HOSTILE) <= set(names(page))
    assert page.locator("img").count() == 0
    assert page.locator("h1").text_content().count(HOSTILE[1]) == 1
    assert any(name.startswith(bar.rstrip("…")) for name in HOSTILE for bar in bars(page))  # a long one is cut


def test_a_tooltip_shows_names_as_text(page):
    page.locator("#chart-order .mark-rect path, #chart-order .role-mark path").first.hover()
    tip = page.locator("#vg-tooltip-element")
    tip.wait_for(state="visible")
    assert "most similar to" in tip.text_content()
    assert page.locator("#vg-tooltip-element img, #vg-tooltip-element script").count() == 0


def move_slider(page, chart, value):
    slider = page.locator(f"#chart-{chart} input[type=range]")
    slider.evaluate(
        "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true}));"
        " e.dispatchEvent(new Event('change', {bubbles: true})); }",
        str(value),
    )
    page.wait_for_timeout(300)


def test_the_beta_slider_changes_the_order(page):
    before = bars(page)
    move_slider(page, "order", 1)
    after = bars(page)
    assert len(before) == len(after) == 4
    assert before != after
    move_slider(page, "order", 0.1)
    assert bars(page) == before


def test_the_beta_slider_works_by_keyboard(page):
    slider = page.locator("#chart-order input[type=range]")
    slider.focus()
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    assert float(slider.input_value()) == pytest.approx(1)


def counted(page):
    """How many features the slider counts, as the ranking shows it."""
    assert page.locator("#ranking li.in").count() == page.locator("#ranking input:checked").count()
    return page.locator("#ranking li.in").count()


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_first_screen_is_the_answer(page, size):
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    last = page.locator("#ranking li").last.bounding_box()
    assert last["y"] + last["height"] < size[1]
    for part in (".headline", ".lead"):
        assert page.locator(f"#answer {part}").bounding_box()["y"] < last["y"]
    enough = int(page.locator("#chart-accuracy input[type=range]").input_value())
    assert counted(page) == enough
    assert f"{enough} recommended" in page.locator("#chart-accuracy svg").text_content()
    assert page.locator("#ranking .step").all_text_contents() == ["1", "2", "3", "4"]


def test_ticked_features_are_code_to_copy(page):
    """Python, the shell and JSON read hostile names back as they are."""
    from unirel.report.page import DOCUMENT

    page.locator("#use summary").click()
    boxes = page.locator("#ranking input")
    before = counted(page)
    for place, wanted in enumerate([True, True, False, True]):
        boxes.nth(place).set_checked(wanted)
    page.get_by_label("Search by name").fill("noise")
    outside = page.locator("#features tbody tr:not([hidden]) input")
    outside.check()
    names = [page.locator("#ranking .name").nth(place).get_attribute("title") for place in (0, 1, 3)]
    wanted = list(dict.fromkeys([*names, "noise"]))
    assert ast.literal_eval(page.locator("#copy-python").text_content().removeprefix("X")) == [wanted]
    command = shlex.split(page.locator("#copy-command").text_content())
    assert command[:5] == ["unirel", "select", "data.csv", "--target", HOSTILE[1]]
    assert command[5:] == ["-k", str(len(wanted)), *(part for name in wanted for part in ("--include", name))]
    document = json.loads(page.locator("#copy-json").text_content())
    assert document == {**DOCUMENT, "features": [{"name": name} for name in wanted]}
    assert page.locator("#n-ticked").text_content() == str(len(wanted))
    assert page.locator("#features tbody input:checked").count() == len(wanted)
    outside.uncheck()
    page.locator("#use button").first.click()
    page.get_by_role("button", name="Copied").wait_for(timeout=10_000)  # once the clipboard has answered
    assert page.evaluate("getSelection().toString()") == page.locator("#copy-python").text_content()
    page.locator("#use summary").click()
    for place in range(4):
        boxes.nth(place).set_checked(place < before)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_not_significant_is_seen_in_every_scheme(page, scheme):
    page.emulate_media(color_scheme=scheme)
    rows = page.locator("#ranking li.unsure")
    assert rows.count() >= 1
    assert rows.first.locator(".marks").text_content().startswith("n.s.")
    hollow = rows.first.locator(".bar").evaluate("e => getComputedStyle(e).backgroundColor")
    full = page.locator("#ranking li:not(.unsure) .bar").first.evaluate("e => getComputedStyle(e).backgroundColor")
    assert hollow == "rgba(0, 0, 0, 0)"
    assert full != hollow
    assert contrast(page, "#ranking .unsure .bar", "borderTopColor") >= 3
    assert contrast(page, "#ranking .tag.unsure") >= 4.5
    assert "n.s.: not significant" in " ".join(page.locator(".legend").text_content().split())


def test_pictures_are_drawn_without_scripts(browser, report):
    """A mail program that runs no scripts still shows the ranking and the pictures."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(Path(report).as_uri())
    assert page.locator("#pictures .card svg").count() == 4
    for card in page.locator("#pictures .card").all():
        assert card.locator("svg").bounding_box()["height"] > 60
    assert page.locator("#strips .strip svg").count() == 4
    assert page.locator("#tree svg path").count() == 4  # three joints and the line between
    assert page.locator("#ranking li").count() == 4
    context.close()


def test_one_slider_moves_both_curves_and_the_ranking(page):
    assert page.locator("#chart-curve input").count() == 0
    for size in (4, 2):
        move_slider(page, "accuracy", size)
        assert f"first {size}: " in page.locator("#chart-accuracy svg").text_content()
        assert f"first {size}: " in page.locator("#chart-curve svg").text_content()
        assert counted(page) == size


def test_the_size_slider_works_by_keyboard(page):
    slider = page.locator("#chart-accuracy input[type=range]")
    slider.focus()
    page.keyboard.press("Home")
    assert counted(page) == 1
    page.keyboard.press("End")
    page.wait_for_timeout(200)
    assert counted(page) == 4


def test_a_name_leads_to_its_words_by_keyboard(page):
    page.locator("#ranking a").nth(2).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#feature-3"
    assert page.locator("#feature-3").is_visible()
    name = page.locator("#ranking a").nth(2).get_attribute("title")
    assert page.locator("#feature-3 b").text_content() == name


def test_redundant_features_stand_in_a_group(page):
    group = page.locator("#groups .group").first
    members = {chip.get_attribute("title") for chip in group.locator("[title]").all()}
    assert {HOSTILE[0], "copy"} <= members
    assert group.locator(".best").count() == 1
    assert page.locator("#groups img, #groups script, #why img, #left-out img").count() == 0


def test_sorting(page):
    header = page.get_by_role("button", name="relevance", exact=True)
    header.click()
    values = page.eval_on_selector_all(
        "#features tbody td.col-relevance", "cells => cells.map(c => Number(c.textContent))"
    )
    assert values == sorted(values, reverse=True)
    header.click()
    values = page.eval_on_selector_all(
        "#features tbody td.col-relevance", "cells => cells.map(c => Number(c.textContent))"
    )
    assert values == sorted(values)
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="step", exact=True).click()
    assert page.locator("#features tbody td").first.text_content() == "1"


def test_search(page):
    page.get_by_label("Search by name").fill("grö")
    assert names(page) == ["Größe"]
    assert page.locator("#found").text_content() == "1 of 6"
    page.get_by_label("Search by name").fill("<img")
    assert names(page) == [HOSTILE[1]]


def test_everything_has_a_label(page):
    unnamed = page.evaluate(
        """() => Array.from(document.querySelectorAll('input, button, figure, [role=region]'))
            .filter(e => !(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute('aria-label')
                && !e.getAttribute('aria-labelledby')).map(e => e.outerHTML.slice(0, 100))"""
    )
    assert unnamed == []
    assert page.locator("main").count() == page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"


def contrast(page, selector, color="color"):
    """Ratio of the luminances of text, or of another colour, and ground."""
    colors = page.evaluate(
        """([selector, color]) => { const e = document.querySelector(selector);
            return [getComputedStyle(e)[color], getComputedStyle(document.body).backgroundColor]; }""",
        [selector, color],
    )

    def luminance(color):
        parts = [int(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted(map(luminance, colors))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(page, scheme):
    page.emulate_media(color_scheme=scheme)
    for selector in ("p", "dt", ".small", "th button", "code"):
        assert contrast(page, selector) >= 4.5
    fill = page.evaluate("getComputedStyle(document.querySelector('#chart-order svg text')).fill")
    assert fill == page.evaluate("getComputedStyle(document.body).color")


def test_a_phone_needs_no_scrolling_to_the_side(page):
    page.set_viewport_size({"width": 390, "height": 800})
    page.reload()
    page.wait_for_function(DRAWN)
    wide = (
        "Array.from(document.querySelectorAll('.chart')).filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.id)"
    )
    assert page.evaluate(wide) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_prints_dark_on_white(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".search").is_hidden()


def test_names_that_objects_have_too(browser, tmp_path):
    """What every object of the page has, such as a constructor, can be the name of a feature."""
    import pandas as pd

    from unirel.report import Report

    taken = ["constructor", "toString", "valueOf", "hasOwnProperty", "__proto__"]
    columns = np.random.default_rng(6).standard_normal((5, 120))
    frame = pd.DataFrame(dict(zip(taken, columns, strict=True)))
    path = Report.from_data(frame, columns.sum(axis=0) > 0, accuracy=None).save(tmp_path / "report.html")
    page, messages = browser.new_page(), []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(Path(path).as_uri())
    page.wait_for_function("Object.keys(window.views || {}).length === 4", timeout=30_000)
    assert sorted(bars(page)) == sorted(taken)
    texts = page.eval_on_selector_all("#chart-heat .role-axis-label text", "all => all.map(e => e.textContent)")
    assert sorted(texts) == sorted(taken * 2)
    assert page.locator("#chart-heat .mark-rect.role-mark path").count() == 20
    assert messages == []
    page.close()
