"""The report as a reader sees it, in headless Chromium: of a quick run, and of a made-up one with every verdict."""

import base64
import json
import re

import pytest

import made_up_report
from browser import Browser, installed
from unrelu.experiments import page as writer
from unrelu.experiments.page_parts import MARKS
from unrelu.experiments.reproduce import reproduce
from unrelu.experiments.rules import RULES, VERDICTS

pytestmark = pytest.mark.skipif(installed() is None, reason="no Chromium is installed; apt-get install chromium")

NAMES = ["figure-landscape", "figure-orthants", "figure-observed", "figure-sectors", "table-noise"]
WIDTHS = [390, 768, 1280]
SMALLEST = 9  # px


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return reproduce(NAMES, tmp_path_factory.mktemp("report") / "out", quick=True, trials=2, jobs=2).report


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made-up")
    report = folder / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "main_claims", lambda: made_up_report.MAIN)
        report.write_text(writer.page(folder, made_up_report.sections(folder), made_up_report.ABOUT))
    (folder / "reproduction.json").write_text("{}")
    return report


@pytest.fixture(scope="module")
def chromium():
    with Browser() as browser:
        yield browser


@pytest.fixture(params=["ran", "made_up"])
def report(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def made(chromium, made_up):
    """The made-up report, opened on a desk."""
    return opened(chromium, made_up)


@pytest.fixture
def page(chromium, report):
    """Either report, opened on a desk."""
    return opened(chromium, report)


def opened(chromium, report, width=1280):
    chromium.events.clear()
    chromium.media()
    chromium.size(width, 900)
    chromium.open(report)
    return chromium


def unfold(page):
    page.run("document.querySelectorAll('main details').forEach(part => { part.open = true; })")


def test_nothing_is_fetched_and_the_console_is_silent(page, report):
    page.run("document.querySelector('.zoom').click()")
    page.run("document.querySelector('th button').click()")
    assert page.errors() == []
    assert [url for url in page.requests() if not url.startswith(("file://", "data:"))] == []
    assert [url for url in page.requests() if url.startswith("file://")] == [report.resolve().as_uri()]
    assert not re.search(r"""(src|srcset|href)=["']https?:""", report.read_text())


def test_every_section_has_its_heading_command_data_and_verdicts(chromium, ran):
    page = opened(chromium, ran)
    assert "Quick run." in page.run("document.querySelector('.banner').textContent")
    for name in NAMES:
        section = f"document.getElementById('{name}')"
        assert page.run(f"{section}.querySelector('h2 .setting').textContent") != ""
        assert page.run(f"{section}.querySelectorAll('.badge').length") >= 1
        assert page.run(f"{section}.querySelector('.command').textContent").startswith(f"unrelu reproduce {name}")
        settings = json.loads((ran.parent / name / "section.json").read_text())["ledger"]
        assert page.run(f"{section}.querySelectorAll('.ledger tbody tr').length") == len(settings)
        beside = page.run(f"[...{section}.querySelectorAll('.downloads a')].map(a => a.getAttribute('href'))")
        assert f"{name}/trials.csv" in beside


def test_links_lead_somewhere(page, report):
    links = page.run("[...document.querySelectorAll('a:not([download])')].map(a => a.getAttribute('href'))")
    inside = {link[1:] for link in links if link.startswith("#")}
    assert inside <= set(page.run("[...document.querySelectorAll('[id]')].map(e => e.id)"))
    beside = {link for link in links if not link.startswith("#")}
    assert any(link.endswith("/trials.csv") for link in beside)
    assert all((report.parent / link).is_file() for link in beside)
    ids = page.run("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_a_phrase_of_the_summary_leads_to_its_verdict(made):
    links = "[...document.querySelectorAll('#summary .sentence a')]"
    place = made_up_report.MAIN["made/place"]
    made.run(f"{links}.find(link => link.textContent.startsWith('{place} (r ≤')).click()")
    made.run("new Promise(done => setTimeout(done, 100))")
    assert made.run("document.querySelector(':target .badge').textContent") == "✗ not reproduced"


def test_a_table_is_inside_the_page_as_well(made, made_up):
    link = "document.querySelector('#figure-long a[download=\"figure-long.csv\"]').href"
    text = made.run(f"fetch({link}).then(answer => answer.text())")
    assert text == (made_up.parent / "figure-long" / "figure-long.csv").read_text()


# What holds, what does not, what depends.


def test_the_summary_is_three_sentences_from_the_verdicts_of_the_main_claims(made):
    sentences = made.run("[...document.querySelectorAll('#summary .sentence')].map(p => p.innerText)")
    holds, fails, depends = sentences
    always, rate, ranks, speed, noise, place, few = made_up_report.MAIN.values()
    above, below = f"{place} (r > ½ log₂ n, 50 %)", f"{place} (r ≤ ½ log₂ n, 50 %)"
    resting = "(1 of these 4 rests on settings that the paper does not state)"
    assert holds == f"✓\nWhat holds: {always}; {rate} (σ = 0); {ranks}; {above} {resting}."
    assert fails == f"✗\nWhat does not: {noise}; {below}."
    assert depends == (
        f"◐\nWhat depends on a setting that the paper does not state: {speed}; "
        f"and what could not be tested in this run: {few}."
    )


def test_claims_about_this_library_are_counted_apart(made):
    counts = made.run("[...document.querySelectorAll('#summary .counts')].map(p => p.innerText.trim())")
    assert counts[1] == "★ 1 better"
    claims = [*made_up_report.CLAIMS, *made_up_report.numbers()]
    for verdict in VERDICTS:
        count = sum(j["verdict"] == verdict and not j["ours"] for j in claims)
        assert f"{MARKS[verdict]} {count} {verdict}" in counts[0]


def test_a_badge_says_on_what_its_verdict_rests(made):
    badges = made.run("[...document.querySelectorAll('#figure-long .claim .badge')].map(e => e.textContent)")
    assert badges[0] == "✓ reproduced · rests on the step and the start"
    assert badges[1] == "✓ reproduced"
    assert badges[5] == "◐ depends on the setting · the step"
    made.run("document.querySelector('#figure-long .claim .badge a').click()")
    made.run("new Promise(done => setTimeout(done, 100))")
    assert made.run("document.getElementById('figure-long-ledger').open")


def test_every_judgement_names_its_rule_and_each_rule_is_described_once(made):
    assert made.run("document.querySelectorAll('.rules dt').length") == len(RULES)
    judged = made.run("[...document.querySelectorAll('.verdict')].map(e => e.querySelector('.rule a').hash)")
    assert len(judged) == len([*made_up_report.CLAIMS, *made_up_report.numbers()])
    used = ("always", "bounded", "ratio", "counterexample", "number", "with-probability")
    assert set(judged) == {f"#rule-{rule}" for rule in used}
    assert made.run("document.querySelectorAll('.near').length") == 2
    assert "Odd and even" in made.run("document.getElementById('near').nextElementSibling.textContent")


def test_the_ledger_puts_values_of_one_setting_below_each_other(made):
    rows = made.run(
        "[...document.getElementById('ledger-gradient-descent').nextElementSibling.querySelectorAll('tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert [row[:3] for row in rows[:3]] == [
        ["step", "0.5/‖M_Ω‖₂", "inferred"],
        ["step", "1/‖M_Ω‖₂", "ours"],
        ["cap", "5000", "printed"],
    ]
    assert rows[2][4] == "figure-long, table-many"
    assert made.run("document.querySelectorAll('#figure-long-ledger tbody tr').length") == len(made_up_report.LEDGER)


# Sorting, zooming, folding.


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(made):
    unfold(made)
    table = "document.querySelector('#figure-long table.dense')"
    values = f"[...{table}.tBodies[0].rows].map(row => parseFloat(row.cells[7].dataset.sort)).map(String)"
    before = [float(value) for value in made.run(values)]
    for turned, said in ((False, "ascending"), (True, "descending")):
        made.run(f"{table}.tHead.rows[0].cells[7].querySelector('button').click()")
        assert [float(value) for value in made.run(values)] == sorted(before, reverse=turned) != before
        assert made.run(f"{table}.tHead.rows[0].cells[7].getAttribute('aria-sort')") == said
    words = "[...document.querySelector('table.overview').tBodies[0].rows].map(row => row.cells[0].textContent)"
    made.run("document.querySelectorAll('table.overview th button')[0].click()")
    assert made.run(words) == sorted(made.run(words))


def test_what_was_not_measured_is_sorted_last(made):
    table = "document.querySelector('#table-many table.plain')"
    made.run(f"{table}.tBodies[0].rows[0].cells[1].outerHTML = '<td>–</td>'")
    values = f"[...{table}.tBodies[0].rows].map(row => row.cells[1].textContent)"
    for found in (["1e-7", "0.1", "–"], ["0.1", "1e-7", "–"]):
        made.run(f"{table}.tHead.rows[0].cells[1].querySelector('button').click()")
        assert made.run(values) == found


def test_cards_are_sorted_by_a_list(chromium, made_up):
    page = opened(chromium, made_up, 390)
    unfold(page)
    wrapper = "document.querySelector('#figure-long table.dense').parentElement"
    assert page.run(f"getComputedStyle({wrapper}.querySelector('thead')).display") == "none"
    assert page.run(f"{wrapper}.querySelector('.sorter').checkVisibility()")
    seconds = f"[...{wrapper}.querySelectorAll('tbody tr')].map(row => parseFloat(row.cells[6].dataset.sort))"
    before = page.run(seconds)
    choose = f"const list = {wrapper}.querySelector('select'); list.value = '%s'; "
    choose = f"{{ {choose} list.dispatchEvent(new Event('change')); }}"
    page.run(choose % "6 down")
    assert page.run(seconds) == sorted(before, reverse=True) != before
    page.run(choose % "")
    assert page.run(seconds) == before
    label = page.run(f"getComputedStyle({wrapper}.querySelector('tbody tr').cells[6], '::before').content")
    assert label == '"seconds"'


def test_a_figure_zooms_and_closes_by_keyboard(page):
    page.run("document.querySelector('.zoom').focus()")
    page.enter()
    assert page.run("document.getElementById('viewer').open")
    box = "document.getElementById('enlarged').getBoundingClientRect()"
    before = page.run(f"{box}.width")
    page.key("=", text="=")
    assert page.run(f"{box}.width") == pytest.approx(1.5 * before)
    left = page.run(f"{box}.left")
    page.key("ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    assert page.run(f"{box}.left") == pytest.approx(left - 60)
    page.key("0", text="0")
    assert page.run(f"{box}.width") == pytest.approx(before)
    page.key("Escape", code="Escape", windowsVirtualKeyCode=27)
    assert not page.run("document.getElementById('viewer').open")
    assert page.run("document.activeElement.className") == "zoom"


def test_a_figure_zooms_moves_and_closes(made):
    made.run("document.querySelector('.zoom').click()")
    assert made.run("document.getElementById('viewer').open")
    width = "document.getElementById('enlarged').getBoundingClientRect().width"
    before = made.run(width)
    made.run("document.getElementById('closer').click()")
    assert made.run(width) == pytest.approx(1.5 * before)
    made.call("Input.dispatchMouseEvent", type="mouseWheel", x=640, y=450, deltaX=0, deltaY=-400)
    made.run("new Promise(done => setTimeout(done, 300))")
    assert made.run(width) > 2 * before
    left = "document.getElementById('enlarged').getBoundingClientRect().left"
    at = made.run(left)
    for kind, x in (("mousePressed", 640), ("mouseMoved", 700), ("mouseReleased", 700)):
        made.call("Input.dispatchMouseEvent", type=kind, x=x, y=450, button="left", clickCount=1)
    assert made.run(left) == pytest.approx(at + 60)
    made.run("document.getElementById('whole').click()")
    assert made.run(width) == pytest.approx(before)
    made.run("document.getElementById('leave').click()")
    assert not made.run("document.getElementById('viewer').open")


def test_what_is_folded_opens_by_keyboard(made):
    part = "document.getElementById('figure-long-ledger')"
    made.run(f"{part}.querySelector('summary').focus()")
    assert not made.run(f"{part}.querySelector('table').checkVisibility()")
    made.enter()
    assert made.run(f"{part}.open")
    assert made.run(f"{part}.querySelector('table').checkVisibility()")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_contents_bar_leads_to_every_section(chromium, made_up, width):
    page = opened(chromium, made_up, width)
    folded = width < 1100
    assert page.run("document.getElementById('contents').open") is not folded
    sections = page.run("[...document.querySelectorAll('main > section')].map(section => section.id)")
    assert page.run("[...document.querySelectorAll('#contents a')].map(link => link.hash.slice(1))") == sections
    page.run("document.documentElement.style.scrollBehavior = 'auto'")
    for name in sections:
        if folded:
            page.run("document.querySelector('#contents summary').focus()")
            page.enter()
        page.run(f"document.querySelector('#contents a[href=\"#{name}\"]').focus()")
        page.enter()
        page.run("new Promise(done => setTimeout(done, 60))")
        assert page.run("document.getElementById('contents').open") is not folded
        top, bar = page.run(
            f"[document.getElementById('{name}').getBoundingClientRect().top,"
            " document.querySelector('nav').getBoundingClientRect()].map((box, place) => place ? box.bottom : box)"
        )
        at_end = page.run("scrollY + innerHeight >= document.documentElement.scrollHeight - 1")
        assert at_end or (0 if width >= 1100 else bar) <= top < 100
    page.run("document.documentElement.style.scrollBehavior = ''")


# What fits on which screen.


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overflows_and_no_table_scrolls_sideways(chromium, report, width):
    page = opened(chromium, report, width)
    unfold(page)
    assert page.run("document.documentElement.scrollWidth") <= width
    outside = page.run(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('dialog') &&"
        f" e.getBoundingClientRect().right > {width} + 0.5).map(e => e.outerHTML.slice(0, 80))"
    )
    assert outside == []
    wider = page.run(
        "[...document.querySelectorAll('main *')].filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert wider == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_verdict_is_hidden(chromium, report, width):
    page = opened(chromium, report, width)
    assert page.run("document.querySelectorAll('.badge').length") >= len(NAMES)
    assert page.hidden(".badge") == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_is_tiny(chromium, report, width):
    page = opened(chromium, report, width)
    unfold(page)
    assert page.tiny_text(SMALLEST) == 0
    assert page.tiny_text(100) > 0


def shown_figures(page):
    """The drawing that a reader sees of each figure, and how wide it is shown."""
    return page.run(
        "Promise.all([...document.querySelectorAll('figure img')].map(async image => { await image.decode();"
        " return [image.currentSrc, image.getBoundingClientRect().width, image.getBoundingClientRect().height]; }))"
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_text_in_figures_can_be_read(chromium, report, width):
    page = opened(chromium, report, width)
    figures = shown_figures(page)
    assert figures
    for uri, shown, high in figures:
        svg = base64.b64decode(uri.split(",", 1)[1]).decode()
        drawn = float(re.search(r'viewBox="\S+ \S+ (\S+) \S+"', svg)[1])
        assert shown > 250
        assert high > 100
        sizes = re.findall(r"font(?:-size)?: (?:[a-z0-9]+ )*?([\d.]+)p[xt]", svg)
        assert sizes, "the drawing has no text as text"
        assert min(map(float, sizes)) * shown / drawn >= SMALLEST
        assert (drawn < 300) == (width < 700)  # points: redrawn for a phone, not shrunk


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_serious(chromium, report, width, scheme):
    page = opened(chromium, report, width)
    page.media(scheme=scheme)
    unfold(page)
    assert page.faults() == []


def test_figures_stay_white_in_the_dark(made):
    made.media(scheme="dark")
    colour = "getComputedStyle(document.querySelector('%s')).backgroundColor"
    assert made.run(colour % ".zoom") == made.run(colour % "figure img") == "rgb(255, 255, 255)"
    assert made.run(colour % "body") != "rgb(255, 255, 255)"


def test_paper_shows_all_that_is_folded(made):
    parts = "[...document.querySelectorAll('main table, main .badge, main figure')]"
    hidden = f"{parts}.filter(e => !e.checkVisibility()).length"
    assert made.run(hidden) > 0
    made.media("print", "dark")
    assert made.run(hidden) == 0
    assert not made.run("document.querySelector('nav').checkVisibility()")
    assert made.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    made.media()
    assert made.run(hidden) > 0  # folded again


def test_printing_gives_pages(made):
    paper = base64.b64decode(made.call("Page.printToPDF", printBackground=True)["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 4
    assert made.run("document.querySelectorAll('main details:not([open])').length") > 0


def test_both_drawings_are_inside_and_slim(made_up):
    text = made_up.read_text()
    beside = made_up.parent / "figure-long"
    for name in ("figure-long.svg", "figure-long-narrow.svg"):
        uri = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", text)["narrow" in name]
        slim, whole = base64.b64decode(uri).decode(), (beside / name).read_text()
        assert len(slim) < len(whole)
        words = [re.findall(r">([^<>]*\S[^<>]*)</(?:text|tspan)>", svg) for svg in (slim, whole)]
        assert words[0] == words[1] != []
