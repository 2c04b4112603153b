"""The report: one HTML file that needs nothing else, no network; raw data lie in folders beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from unrelu._old.experiments.digest import ERRATA
from unrelu._old.experiments.page_parts import badge, bar, cell, count_badges, made_cell, slug, table
from unrelu._old.experiments.page_section import ORIGINS, ledger_id, ledger_table, section_html
from unrelu._old.experiments.rules import BETTER, DEPENDS, NOT_REPRODUCED, NOT_TESTED, REPRODUCED, RULES, VERDICTS
from unrelu._old.experiments.summary import NAMED, Phrase, Sentence, main_claims, summary

__all__ = ["page"]

TITLE = "Symmetric matrix completion with ReLU sampling, reproduced"
# Pixels that the table of all experiments needs.
OVERVIEW_NEEDS = 640
# What share of its width on a screen a table needs on paper.
ON_PAPER = 0.68
MEANINGS = {
    REPRODUCED: "what was measured agrees with what the paper prints or says",
    BETTER: "what was measured goes further than what is claimed",
    NOT_REPRODUCED: "what was measured contradicts the claim",
    DEPENDS: "the verdict differs between plausible values of a setting that the paper does not state",
    NOT_TESTED: "too few trials or too wide an interval to tell, or nothing was measured; this speaks neither for the "
    "claim nor against it",
}


def page(folder: Path, sections: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    """The whole page as text.

    Parameters
    ----------
    folder : Path
        Where the pictures and CSV files of each section are.
    sections : list of dict
        What :func:`unrelu._old.experiments.outputs.write_files` returned, in the order of the page.
    about : dict
        Versions, machine, seeds.
    """
    names = [section["name"] for section in sections]
    seeds = about.get("seeds", {})
    body = "\n".join(
        [
            _head(sections, about),
            _summary(sections, about),
            _overview(sections),
            *(section_html(folder / s["name"], s, names, seeds.get(s["name"])) for s in sections),
            _ledger(sections),
            _rules(),
            _about(about),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{TITLE}</title>\n<style>\n{_asset('page.css')}{_cards(body)}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#summary">To the summary</a>\n{_contents(sections)}<main>\n{body}</main>\n'
        f"{_asset('viewer.html')}<script>\n{_asset('page.js')}</script>\n</body>\n</html>\n"
    )


def _asset(name: str) -> str:
    return files("unrelu._old.experiments").joinpath("assets", name).read_text(encoding="utf-8")


def _cards(body: str) -> str:
    """The rules by which a table becomes cards, once for each width that occurs; CSS cannot ask for a table's own."""
    rules = _asset("cards.css")
    widths = sorted(set(map(int, re.findall(r'<div class="table w(\d+)"', body))))
    parts = []
    for width in widths:
        # On paper tables are set smaller and have no arrows.
        for medium, share in (("screen", 1.0), ("print", ON_PAPER)):
            asked = f"@media {medium} {{ @container (max-width: {width * share - 0.1:.1f}px) {{"
            parts.append(f"{asked}\n{rules.replace('.folded', f'.w{width}')}}} }}\n")
    return "".join(parts)


def _contents(sections: Sequence[Mapping[str, Any]]) -> str:
    """The contents bar: at the side of a wide screen, folded at the top of a narrow one."""
    of_paper = [(s["name"], s["title"], s["where"]) for s in sections]
    groups = [
        ("", [("summary", "Summary", ""), ("overview", "Overview", "")]),
        ("The paper", of_paper),
        ("How it was done", [("ledger", "Settings", ""), ("rules", "Rules", ""), ("about", "This run", "")]),
    ]
    lists = "".join(_group(title, links) for title, links in groups if links)
    # Folded by a line of script as soon as it is there, for whoever has a phone; without scripts it stays open.
    fold = "if (matchMedia('(max-width: 1099px)').matches) document.getElementById('contents').open = false;"
    return (
        '<nav aria-label="Contents"><details id="contents" open><summary>Contents <span id="here"></span></summary>'
        f'<div class="lists">{lists}</div></details><script>{fold}</script></nav>\n'
    )


def _group(title: str, links: Sequence[tuple[str, str, str]]) -> str:
    items = "".join(
        f'<li><a href="#{escape(name)}">{escape(text)}'
        + (f'<span class="place">{escape(where)}</span>' if where else "")
        + "</a></li>"
        for name, text, where in links
    )
    return (f'<p class="group">{title}</p>' if title else "") + f"<ul>{items}</ul>"


def _head(sections: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    banner = (
        '<p class="banner"><strong>Quick run.</strong> Fewer trials and smaller sizes than in the paper: most claims '
        "cannot be tested so. Run without <code>--quick</code> for verdicts.</p>"
        if any(section["quick"] for section in sections)
        else ""
    )
    failed = about.get("failed trials") or []
    count = "1 trial" if len(failed) == 1 else f"{len(failed)} trials"
    trouble = f'<p class="banner">Without {count} that failed: {escape("; ".join(failed[:3]))}</p>' if failed else ""
    return (
        f'<header><h1>{TITLE}</h1><p class="lead">Tables, figures and claims of Liu, Wang, Huang, Qu and Balzano '
        "(ICML 2024) beside what <code>unrelu</code> measured. Each verdict is computed by a "
        '<a href="#rules">stated rule</a> from <a href="#ledger">stated settings</a>.</p>'
        f"{banner}{trouble}</header>\n"
    )


def _summary(sections: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    told = summary(sections, main_claims())
    named = any(sentence.phrases or sentence.untested for sentence in told)
    sentences = "".join(map(_sentence, told)) if named else "<p>No main claim of the paper is judged on this page.</p>"
    paper = _sum(section["counts"] for section in sections if section["name"] != ERRATA)
    errata = _sum(section["counts"] for section in sections if section["name"] == ERRATA)
    ours = _sum(section["counts_ours"] for section in sections)
    total, total_ours = sum(paper.values()), sum(ours.values())
    judged = [j for s in sections for j in s["judgements"] if not j["ours"] and j["verdict"] != NOT_TESTED]
    resting = sum(bool(j["rests"]) for j in judged)
    halves = about.get("odd and even trials")
    apart = (
        f" Odd and even trials, judged apart, agree on {halves['agree']} of {halves['lines']} verdicts; the others are "
        'marked as <a href="#near">near their bound</a>.'
        if halves
        else ""
    )
    also = (
        f'<p class="small">A claim that is judged in several cases counts once for each. {resting} of these verdicts '
        f'{"rests" if resting == 1 else "rest"} on <a href="#rests">settings that the paper does not state</a>.{apart}'
        "</p>"
    )
    misprints = (
        f'<h3>{sum(errata.values())} steps and formulas <a href="#{ERRATA}">printed wrongly</a>, counted apart</h3>'
        f'<p class="counts">{count_badges(errata)}</p>'
        if errata
        else ""
    )
    library = (
        f"<h3>{total_ours} claim{'' if total_ours == 1 else 's'} about this library, counted apart</h3>"
        f'<p class="counts">{count_badges(ours)}</p>'
        if ours
        else ""
    )
    return (
        f'<section id="summary" aria-labelledby="summary-title"><h2 id="summary-title">Summary</h2>{sentences}'
        f"<h3>{total} claims and numbers of the paper</h3>{bar(paper)}"
        f'<p class="counts">{count_badges(paper)}</p>{also}{misprints}{library}</section>\n'
    )


def _sum(every: Any) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in every:
        for verdict, count in counts.items():
            total[verdict] = total.get(verdict, 0) + count
    return total


def _sentence(sentence: Sentence) -> str:
    """A sentence of the summary; the claims that it names lead to their verdicts."""
    named, untested = _phrases(sentence.phrases), _phrases(sentence.untested, NAMED)
    if sentence.phrases and untested:
        text = f"{named}; and what could not be tested in this run: {untested}"
    else:
        text = named or untested or "nothing among the main claims"
    tail = f" {escape(sentence.tail)}" if sentence.tail else ""
    mark = badge(sentence.verdict).split("</span>")[0] + "</span></span>"
    return f'<p class="sentence">{mark} <span><strong>{sentence.lead}</strong> {text}{tail}.</span></p>'


def _phrases(phrases: Sequence[Phrase], most: int | None = None) -> str:
    shown = [f'<a href="#{escape(phrase.anchor)}">{escape(phrase.text)}</a>' for phrase in phrases[:most]]
    left = len(phrases) - len(shown)
    return "; ".join(shown) + (f"; and {left} more" if left else "")


def _overview(sections: Sequence[Mapping[str, Any]]) -> str:
    columns = ["what", "in the paper", "verdicts", "runs", "seconds"]
    rows = [
        [
            made_cell(f'<a href="#{escape(s["name"])}">{escape(s["title"])}</a>', "", "long words"),
            cell(s["where"], "in the paper"),
            made_cell(f'<div class="counts">{count_badges(s["counts"])}</div>', "", "long judged"),
            cell(s["trials"], "runs"),
            cell(s["seconds"], "seconds"),
        ]
        for s in sections
    ]
    return (
        '<section id="overview" aria-labelledby="overview-title"><h2 id="overview-title">Overview</h2>'
        + table(columns, rows, OVERVIEW_NEEDS, "overview")
        + '<p class="small">Seconds are CPU seconds of all runs added up, each with one thread. '
        "Verdicts are of the paper's claims.</p></section>\n"
    )


def _ledger(sections: Sequence[Mapping[str, Any]]) -> str:
    """Every setting by method: where figures differ in one, its values stand below each other."""
    methods: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for section in sections:
        link = f'<a href="#{escape(ledger_id(section["name"]))}">{escape(section["name"])}</a>'
        for line in section["ledger"]:
            what = (line["name"], line["value"], line["origin"], line["how"])
            places = methods.setdefault(line["method"], {}).setdefault(what, [])
            if link not in places:
                places.append(link)
    tables = []
    for method, found in methods.items():
        order = {name: place for place, name in enumerate(dict.fromkeys(what[0] for what in found))}
        whats = sorted(found, key=lambda what: order[what[0]])
        lines = [dict(zip(("name", "value", "origin", "how"), what, strict=True)) for what in whats]
        made = ledger_table(lines, [", ".join(found[what]) for what in whats])
        tables.append(f'<h3 id="ledger-{slug(method)}">{escape(method)}</h3>{made}')
    legend = "".join(
        f'<li><span class="origin {origin}">{origin}</span> {meaning}</li>' for origin, meaning in ORIGINS.items()
    )
    return (
        '<section id="ledger" aria-labelledby="ledger-title"><h2 id="ledger-title">Settings of every method'
        '<span class="setting">as the code ran with them, and where each comes from</span></h2>'
        f'<ul class="legend">{legend}</ul>{"".join(tables) or "<p>No experiment on this page has any.</p>"}</section>\n'
    )


def _rules() -> str:
    verdicts = "".join(f"<li>{badge(verdict)} {MEANINGS[verdict]}.</li>" for verdict in VERDICTS)
    rules = "".join(
        f'<div id="rule-{slug(name)}"><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>'
        for name, text in RULES.items()
    )
    return (
        '<section id="rules" aria-labelledby="rules-title"><h2 id="rules-title">Verdicts and the rules that reach them'
        f'</h2><ul class="legend">{verdicts}</ul>'
        '<h3 id="rests">Rests on a setting</h3><p>The paper does not state this setting. Which value was used, and how '
        'it was found, is in the <a href="#ledger">ledger</a>; with another value the verdict might differ.</p>'
        '<h3 id="near">Near its bound</h3><p>Odd and even trials, judged apart by the same rule, do not both come to '
        "this verdict: another sample might turn it, or half of this one is too small for it.</p>"
        f'<h3>Rules</h3><dl class="rules">{rules}</dl></section>\n'
    )


def _about(about: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    machine = ", ".join(f"{name}: {value}" for name, value in about["machine"].items())
    return (
        '<section id="about" aria-labelledby="about-title"><h2 id="about-title">This run</h2>'
        f"<p>Written {escape(about['written'])} by {escape(versions)}.</p><p>{escape(machine)}.</p>"
        '<p>Beside this page: <a href="reproduction.json">reproduction.json</a> (versions, machine, seeds), and a '
        "folder for each experiment with its tables, its trials and its figures.</p></section>\n"
    )
