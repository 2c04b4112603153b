"""The report as a reader sees it, in headless Chromium."""

import re

import pytest

from browser import Browser, installed
from unrelu.experiments.reproduce import reproduce

pytestmark = pytest.mark.skipif(installed() is None, reason="no Chromium is installed; apt-get install chromium")

NAMES = ["figure-landscape", "figure-orthants", "figure-observed", "figure-sectors", "table-noise"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return reproduce(NAMES, tmp_path_factory.mktemp("report") / "out", quick=True, trials=2, jobs=2).report


@pytest.fixture(scope="module")
def chromium():
    with Browser() as browser:
        yield browser


@pytest.fixture
def page(chromium, report):
    chromium.events.clear()
    chromium.size(1280, 900)
    chromium.open(report)
    return chromium


def test_nothing_is_fetched_and_the_console_is_silent(page, report):
    page.run("document.querySelector('.zoom').click()")
    page.run("document.querySelector('th button').click()")
    assert page.errors() == []
    assert [url for url in page.requests() if not url.startswith(("file://", "data:"))] == []
    assert [url for url in page.requests() if url.startswith("file://")] == [report.resolve().as_uri()]
    assert not re.search(r"""(src|href)=["']https?:""", report.read_text())


def test_every_figure_is_visible(page):
    sizes = page.run(
        "Promise.all([...document.querySelectorAll('figure img')].map(async image => { await image.decode();"
        " const box = image.getBoundingClientRect(); return [image.naturalWidth, box.width, box.height]; }))"
    )
    assert len(sizes) == 5
    assert all(natural > 100 and width > 200 and height > 100 for natural, width, height in sizes)


def test_every_section_has_verdicts_a_command_and_raw_data(page):
    for name in NAMES:
        section = f"document.getElementById('{name}')"
        assert page.run(f"{section}.querySelectorAll('.badge').length") >= 1
        assert page.run(f"{section}.querySelector('.command').textContent").startswith(f"unrelu reproduce {name}")
        raw = page.run(f"fetch({section}.querySelector('a[download$=\"trials.csv\"]').href).then(a => a.text())")
        assert raw.splitlines()[0].count(",") >= 3
        assert len(raw.splitlines()) >= 3


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(page):
    table = "document.querySelector('#table-noise table.sortable')"
    column = page.run(f"[...{table}.tHead.rows[0].cells].findIndex(c => c.textContent.startsWith('‖Δ‖_F'))")
    values = f"[...{table}.tBodies[0].rows].map(row => parseFloat(row.cells[{column}].dataset.sort))"
    click = f"{table}.tHead.rows[0].cells[{column}].querySelector('button').click()"
    before = page.run(values)
    page.run(click)
    assert page.run(values) == sorted(before) != before
    assert page.run(f"{table}.tHead.rows[0].cells[{column}].getAttribute('aria-sort')") == "ascending"
    page.run(click)
    assert page.run(values) == sorted(before, reverse=True)
    words = "[...document.querySelector('table.overview').tBodies[0].rows].map(row => row.cells[1].textContent)"
    page.run("document.querySelectorAll('table.overview th button')[1].click()")
    assert page.run(words) == sorted(page.run(words))


def test_what_was_not_measured_is_sorted_last(page):
    page.run(
        "const t = document.querySelector('#table-noise table.sortable'); const row = t.tBodies[0].rows[0];"
        "row.cells[2].removeAttribute('data-sort'); row.cells[2].className = ''; row.cells[2].textContent = '–';"
        "t.tBodies[0].rows[1].cells[2].dataset.sort = '1e3'; t.tBodies[0].rows[2].cells[2].dataset.sort = '38.3'"
    )
    table = "document.querySelector('#table-noise table.sortable')"
    values = f"[...{table}.tBodies[0].rows].map(row => parseFloat(row.cells[2].dataset.sort ?? 'NaN'))"
    for order in (False, True):
        page.run(f"{table}.tHead.rows[0].cells[2].querySelector('button').click()")
        found = page.run(f"{values}.map(String)")
        assert found[-1] == "NaN"
        numbers = [float(value) for value in found[:-1]]
        assert numbers == sorted(numbers, reverse=order)
        assert max(numbers) == 1000


def key(page, name, **more):
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=name, **more)


def test_a_figure_zooms_and_closes_by_keyboard(page):
    page.run("document.querySelector('.zoom').focus()")
    key(page, "Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    assert page.run("document.getElementById('viewer').open")
    box = "document.getElementById('enlarged').getBoundingClientRect()"
    before = page.run(f"{box}.width")
    key(page, "=", text="=")
    assert page.run(f"{box}.width") == pytest.approx(1.5 * before)
    left = page.run(f"{box}.left")
    key(page, "ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    assert page.run(f"{box}.left") == pytest.approx(left - 60)
    key(page, "0", text="0")
    assert page.run(f"{box}.width") == pytest.approx(before)
    key(page, "Escape", code="Escape", windowsVirtualKeyCode=27)
    assert not page.run("document.getElementById('viewer').open")
    assert page.run("document.activeElement.className") == "zoom"


def test_links_lead_to_the_files_beside_the_page(page, report):
    links = page.run("[...document.querySelectorAll('.downloads a:not([download])')].map(a => a.getAttribute('href'))")
    assert "table-noise/table-noise.csv" in links
    assert all((report.parent / link).is_file() for link in links)


def test_a_figure_zooms_moves_and_closes(page):
    page.run("document.querySelector('.zoom').click()")
    assert page.run("document.getElementById('viewer').open")
    width = "document.getElementById('enlarged').getBoundingClientRect().width"
    before = page.run(width)
    page.run("document.getElementById('closer').click()")
    assert page.run(width) == pytest.approx(1.5 * before)
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=640, y=450, deltaX=0, deltaY=-400)
    page.run("new Promise(done => setTimeout(done, 300))")
    assert page.run(width) > 2 * before
    left = "document.getElementById('enlarged').getBoundingClientRect().left"
    at = page.run(left)
    for kind, x in (("mousePressed", 640), ("mouseMoved", 700), ("mouseReleased", 700)):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=450, button="left", clickCount=1)
    assert page.run(left) == pytest.approx(at + 60)
    page.run("document.getElementById('whole').click()")
    assert page.run(width) == pytest.approx(before)
    page.run("document.getElementById('leave').click()")
    assert not page.run("document.getElementById('viewer').open")


@pytest.mark.parametrize("width", [390, 1280])
def test_no_verdict_is_behind_a_scroll_bar(page, report, width):
    page.size(width, 844)
    page.open(report)
    hidden = page.run(
        "[...document.querySelectorAll('.scroll .badge')].filter(e => { const box = e.closest('.scroll'),"
        " a = box.getBoundingClientRect(), b = e.getBoundingClientRect();"
        " return b.bottom > a.bottom + 0.5 || b.right > a.right + 0.5; }).map(e => e.textContent)"
    )
    assert hidden == []


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows(page, report, width):
    page.size(width, 844)
    page.open(report)
    assert page.run("document.documentElement.scrollWidth") <= width
    outside = page.run(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('dialog') && !e.closest('.scroll') &&"
        f" e.getBoundingClientRect().right > {width} + 0.5).map(e => e.outerHTML.slice(0, 80))"
    )
    assert outside == []
