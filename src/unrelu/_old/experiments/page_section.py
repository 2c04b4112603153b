"""One figure's or table's part of the report page: figures, what was measured, verdicts, settings, files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from unrelu._old.experiments.page_parts import (
    badge,
    cell,
    count_badges,
    data_table,
    data_uri,
    file_size,
    made_cell,
    picture,
    slug,
    table,
    words,
)
from unrelu._old.experiments.rules import DEPENDS, RULES, VERDICTS
from unrelu._old.experiments.summary import anchor

__all__ = ["ORIGINS", "ledger_id", "ledger_table", "rule_link", "section_html"]

# Where a setting's value comes from.
ORIGINS = {
    "printed": "the paper states it",
    "inferred": "it follows from what the paper prints; how stands beside it",
    "ours": "the paper is silent; why this value stands beside it",
}
# So many numbers or more stand in a table, fewer among the claims.
MANY = 4
# Tables without verdicts are folded from so many lines on, so that a reader passes them quickly.
LONG = 24
# Pixels that the table of printed numbers and a ledger need.
NUMBERS_NEED, LEDGER_NEEDS = 640, 560
# Tables up to this size are inside the page too, for when only the page was passed on.
EMBEDDED = 64_000
# The files beside the page that hold what every trial found, and what follows from it.
RAW = ("trials.csv", "curves.csv", "verdicts.csv")
# Where the measurement at another value of a setting begins, as rules.across joins them.
ANOTHER = re.compile(rf"; (?=[^;:]+: (?:{'|'.join(VERDICTS)}), )")


def section_html(folder: Path, s: Mapping[str, Any], names: Sequence[str], seeds: Sequence[int] | None) -> str:
    """The part of one experiment; ``folder`` holds its files, ``names`` are those of all parts."""
    name = escape(s["name"])
    tags = [
        f'<span class="tag">{name}</span>',
        f"<span>{escape(s['where'])}</span>",
        *(['<span class="tag quick">quick run</span>'] if s["quick"] else []),
    ]
    parts = [
        f'<section id="{name}" aria-labelledby="{name}-title">',
        f'<p class="meta">{" ".join(tags)}</p>',
        f'<h2 id="{name}-title">{escape(s["title"])}<span class="setting">{escape(s["setting"])}</span></h2>',
        _counted(s),
        *(picture(folder, about) for about in s["pictures"]),
        _reach(folder, s, seeds),
        _sentences(s["says"]),
        _judgements(s),
        *(_data_table(about, names) for about in s["tables"]),
        *(f'<p class="small note">{escape(note)}</p>' for note in s["notes"]),
        "</section>\n",
    ]
    return "\n".join(part for part in parts if part)


def _counted(s: Mapping[str, Any]) -> str:
    paper, ours = count_badges(s["counts"]), count_badges(s["counts_ours"])
    parts = [paper] if paper else []
    if ours:
        parts.append(f'<span class="apart">about this library: {ours}</span>')
    return f'<p class="counts">{" ".join(parts)}</p>' if parts else ""


def _reach(folder: Path, s: Mapping[str, Any], seeds: Sequence[int] | None) -> str:
    """The command, the data and the settings, right below the figures."""
    ran = _words(s["sizes"])
    tried = f"{s['trials']} run{'' if s['trials'] == 1 else 's'}" + (
        f" with seeds {seeds[0]} to {seeds[1]}" if seeds else ""
    )
    return (
        '<div class="reach">'
        f'<p class="command"><code>{_command(s["command"])}</code></p>'
        f'<p class="downloads"><span class="label">Data</span> {_downloads(folder, s)}</p>'
        f'<p class="sizes"><span class="label">Sizes</span> {escape(ran)}'
        + (f" · {tried}, {s['seconds']:g} s of CPU" if s["trials"] else "")
        + f"</p>{_ledger(s)}</div>"
    )


def _command(line: str) -> str:
    """A command line that breaks between its words only, not after a hyphen."""
    return " ".join(f"<span>{escape(word)}</span>" for word in line.split(" "))


def _words(sizes: Mapping[str, Any]) -> str:
    shown = {name: " ".join(map(str, v)) or "none" if isinstance(v, list) else v for name, v in sizes.items()}
    return ", ".join(f"{name} = {value}" for name, value in shown.items() if value is not None)


def _downloads(folder: Path, s: Mapping[str, Any]) -> str:
    """The files beside the page; small tables are inside the page as well."""
    links = []
    for about in s["tables"]:
        name = f"{about['name']}.csv"
        links.append(_file(folder, name, _copy(folder / name, s["name"])))
    links += [_file(folder, name, "") for name in RAW if (folder / name).is_file()]
    return " · ".join(links) or "none of its own"


def _file(folder: Path, name: str, also: str) -> str:
    size = file_size(folder / name)
    inside = ", ".join(part for part in (size, also) if part)
    words = f' <span class="small">({inside})</span>' if inside else ""
    return f'<span class="file"><a href="{escape(folder.name)}/{escape(name)}">{escape(name)}</a>{words}</span>'


def _copy(path: Path, section: str) -> str:
    if not path.is_file() or path.stat().st_size > EMBEDDED:
        return ""
    saved = path.name if path.name.startswith(section) else f"{section}-{path.name}"
    uri = data_uri(path.read_bytes(), "text/csv;charset=utf-8")
    return f'<a download="{escape(saved)}" href="{uri}" aria-label="copy of {escape(path.name)} in this page">copy</a>'


def ledger_id(name: str) -> str:
    """Where the settings of an experiment stand."""
    return f"{name}-ledger"


def _ledger(s: Mapping[str, Any]) -> str:
    lines = s["ledger"]
    if not lines:
        return ""
    origins = [line["origin"] for line in lines]
    counted = ", ".join(f"{origins.count(origin)} {origin}" for origin in ORIGINS if origin in origins)
    return (
        f'<details class="ledger" id="{escape(ledger_id(s["name"]))}"><summary>Settings '
        f'<span class="small">{counted}</span></summary>{ledger_table(lines)}</details>'
    )


def ledger_table(lines: Sequence[Mapping[str, Any]], places: Sequence[str] = ()) -> str:
    """Lines of the ledger; ``places`` is the markup of a last column, in which experiments they hold."""
    columns = [*([] if places else ["method"]), "setting", "value", "origin", "how", *(["where"] if places else [])]
    rows = []
    for number, line in enumerate(lines):
        origin = line["origin"]
        rows.append(
            [
                *([] if places else [cell(line["method"], "method")]),
                cell(line["name"], "setting"),
                cell(line["value"], "value"),
                made_cell(f'<span class="origin {slug(origin)}">{escape(origin)}</span>', "origin", "short"),
                made_cell(words(line["how"]), "how", "long" if line["how"] else "empty"),
                *([made_cell(places[number], "where", "long")] if places else []),
            ]
        )
    return table(columns, rows, LEDGER_NEEDS, "settings placed" if places else "settings")


def _sentences(says: Sequence[str]) -> str:
    """What follows from the figures, where the paper claims nothing that could be judged."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in says)
    return f'<h3>What this says</h3><ul class="says">{items}</ul>' if items else ""


def _data_table(about: Mapping[str, Any], names: Sequence[str]) -> str:
    columns, rows = about["columns"], about["rows"]
    if not rows:
        return ""
    caption = escape(about["caption"])
    made = data_table(columns, rows, names)
    # Verdicts are what the page is for: they are never folded.
    if any(value in VERDICTS for row in rows for value in row if isinstance(value, str)):
        return f'<p class="caption">{caption}</p>{made}'
    lines = f"{len(rows)} line{'' if len(rows) == 1 else 's'}"
    opened = " open" if len(rows) < LONG else ""
    return (
        f'<details class="data" data-lines="{len(rows)}"{opened}><summary>{caption} <span class="small">{lines}</span>'
        f"</summary>{made}</details>"
    )


def _judgements(s: Mapping[str, Any]) -> str:
    """Claims as a list, many numbers as a table."""
    judgements = s["judgements"]
    numbers = [j for j in judgements if not j["prose"]]
    if len(numbers) < MANY:
        numbers = []
    claims = [j for j in judgements if j not in numbers]
    parts = []
    if claims:
        items = "\n".join(_claim(s["name"], j) for j in claims)
        parts.append(f'<ul class="claims">{items}</ul>')
    if numbers:
        parts.append(_numbers(s["name"], numbers))
    return "<h3>Verdicts</h3>" + "\n".join(parts) if parts else ""


def _verdict(name: str, j: Mapping[str, Any]) -> str:
    near = '<a class="near" href="#near">near its bound</a>' if j["near"] else ""
    rests = badge(j["verdict"], rests=j["rests"], ledger=ledger_id(name))
    return f'{rests}{near}<span class="rule">by rule {rule_link(j)}</span>'


def rule_link(j: Mapping[str, Any]) -> str:
    """The rules that reached a verdict, each a link to its description."""
    rules = [j["rule"], *(["several settings"] if j["verdict"] == DEPENDS and j["rule"] != "several settings" else [])]
    return ", ".join(
        f'<a href="#rule-{slug(rule)}">{escape(rule)}</a>' if rule in RULES else escape(rule or "none")
        for rule in rules
    )


def _claim(name: str, j: Mapping[str, Any]) -> str:
    case = f' <span class="case">{words(j["case"])}</span>' if j["case"] else ""
    place = "" if j["claim"] == j["where"] else f'<p class="small">{escape(j["where"])}</p>'
    ours = '<p class="small">about this library, counted apart</p>' if j["ours"] else ""
    told = {"printed": "" if j["prose"] else words(j["printed"]), "measured": _measured(j), "why": words(j["why"])}
    lines = "".join(f"<div><dt>{label}</dt><dd>{text}</dd></div>" for label, text in told.items() if text)
    return (
        f'<li class="claim" id="{escape(anchor(name, j))}"><div class="verdict">{_verdict(name, j)}</div>'
        f'<div class="told"><p class="words">{words(j["claim"])}{case}</p>{place}{ours}<dl>{lines}</dl></div></li>'
    )


def _measured(j: Mapping[str, Any]) -> str:
    """What was measured; at several values of a setting, a line for each."""
    lines = ANOTHER.split(j["measured"]) if j["verdict"] == DEPENDS else [j["measured"]]
    return "<br>".join(words(line) for line in lines)


def _numbers(name: str, judgements: Sequence[Mapping[str, Any]]) -> str:
    reasons = any(j["why"] for j in judgements)
    columns = ["number", "printed", "measured", "verdict", *(["why"] if reasons else [])]
    rows = []
    for j in judgements:
        text = j["claim"] if j["case"] in j["claim"] else f"{j['claim']} ({j['case']})"
        place = "" if j["claim"] == j["where"] else f'<br><span class="small">{escape(j["where"])}</span>'
        mark = f'<span id="{escape(anchor(name, j))}">{words(text)}</span>{place}'
        rows.append(
            [
                made_cell(mark, "", "long words"),
                made_cell(words(j["printed"]), "printed", "figures"),
                made_cell(_measured(j), "measured", "figures"),
                made_cell(f'<div class="verdict">{_verdict(name, j)}</div>', "", "judged long"),
                *([made_cell(words(j["why"]), "why", "long" if j["why"] else "empty")] if reasons else []),
            ]
        )
    return table(columns, rows, NUMBERS_NEED, "numbers")
