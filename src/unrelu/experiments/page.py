"""The report: one HTML file that needs nothing else, no network, no folder beside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = ["page"]

VERDICTS = ("reproduced", "better", "not reproduced")
# Texts up to this length are not broken over lines.
SHORT = 28
MARKS = {"reproduced": "✓", "better": "★", "not reproduced": "✗"}


def page(folder: Path, sections: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    """The whole page as text.

    Parameters
    ----------
    folder : Path
        Where the pictures and CSV files of each section are.
    sections : list of dict
        What :func:`unrelu.experiments.outputs.write_files` returned, in the order of the page.
    about : dict
        Versions, machine, seeds.
    """
    counts = {verdict: sum(s["counts"].get(verdict, 0) for s in sections) for verdict in VERDICTS}
    quick = any(section["quick"] for section in sections)
    body = "\n".join(
        [
            _head(counts, quick, about),
            _overview(sections),
            *(_section(folder / section["name"], section) for section in sections),
            _foot(about),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        "<title>Symmetric matrix completion with ReLU sampling, reproduced</title>\n"
        f"<style>\n{_asset('page.css')}</style>\n</head>\n<body>\n{body}\n{_asset('viewer.html')}"
        f"<script>\n{_asset('page.js')}</script>\n</body>\n</html>\n"
    )


def _asset(name: str) -> str:
    return files("unrelu.experiments").joinpath("assets", name).read_text(encoding="utf-8")


def _head(counts: Mapping[str, int], quick: bool, about: Mapping[str, Any]) -> str:
    banner = (
        '<p class="banner"><strong>Quick run.</strong> Fewer trials and smaller sizes than in the paper: the '
        "verdicts are a foretaste. Run without <code>--quick</code> for the real ones.</p>"
        if quick
        else ""
    )
    failed = about.get("failed trials") or []
    trouble = (
        f'<p class="banner">{len(failed)} trials failed and are left out: {escape("; ".join(failed[:3]))}</p>'
        if failed
        else ""
    )
    return (
        '<header><h1>Symmetric matrix completion with ReLU sampling, reproduced</h1><p class="lead">Every table and '
        "figure of Liu, Wang, Huang, Qu and Balzano (ICML 2024) beside what <code>unrelu</code> measured. A verdict is "
        "computed from the printed number and the measured one.</p>"
        f'<p class="counts">{_badges(counts)}</p>{banner}{trouble}</header>'
    )


def _badges(counts: Mapping[str, int]) -> str:
    shown = [(verdict, counts.get(verdict, 0)) for verdict in VERDICTS if counts.get(verdict, 0)]
    return " ".join(f'<span class="badge {_class(v)}">{MARKS[v]} {count} {v}</span>' for v, count in shown)


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _overview(sections: Sequence[Mapping[str, Any]]) -> str:
    rows = "".join(
        f'<tr><td><a href="#{escape(s["name"])}">{escape(s["name"])}</a></td><td>{escape(s["title"])}</td>'
        f"<td>{escape(s['where'])}</td><td>{_badges(s['counts']) or '–'}</td>"
        f'<td class="number" data-sort="{s["trials"]}">{s["trials"]}</td>'
        f'<td class="number" data-sort="{s["seconds"]}">{s["seconds"]:g}</td></tr>'
        for s in sections
    )
    return (
        "<section><h2>Overview</h2>"
        + _table(["experiment", "what", "in the paper", "verdicts", "runs", "seconds"], rows, "overview")
        + '<p class="small">Seconds are those of all runs added up; each ran in a process of its own with one thread.'
        "</p></section>"
    )


def _table(columns: Sequence[str], rows: str, kind: str = "") -> str:
    heads = "".join(
        f'<th scope="col" aria-sort="none"><button type="button">{escape(column)}</button></th>' for column in columns
    )
    return (
        f'<div class="scroll" tabindex="0"><table class="sortable {kind}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _section(folder: Path, s: Mapping[str, Any]) -> str:
    name = escape(s["name"])
    parts = [
        f'<section id="{name}"><h2>{escape(s["title"])}</h2>',
        f'<p class="meta"><span class="tag">{name}</span> {escape(s["where"])}{" · extra" if s["extra"] else ""} · '
        f"{escape(s['setting'])}</p>",
        f"<p>{_badges(s['counts'])}</p>" if s["counts"] else "",
        *(_picture(folder, picture) for picture in s["pictures"]),
        _sentences(s["says"]),
        *(_data_table(table) for table in s["tables"]),
        _judgements(s["judgements"]),
        *(f'<p class="small">{escape(note)}</p>' for note in s["notes"]),
        f'<p class="small">This run{" (quick)" if s["quick"] else ""}: {escape(_words(s["sizes"]))}</p>',
        f'<p class="command"><code>{_command(s["command"])}</code></p>',
        f'<p class="downloads">Raw data: {_downloads(folder, s)}</p></section>',
    ]
    return "\n".join(parts)


def _sentences(says: Sequence[str]) -> str:
    """What follows from the figures, where the paper claims nothing that could be judged."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in says)
    return f'<p class="caption">What this says</p><ul class="says">{items}</ul>' if items else ""


def _command(line: str) -> str:
    """A command line that breaks between its words only, not after a hyphen."""
    return " ".join(f"<span>{escape(word)}</span>" for word in line.split(" "))


def _words(sizes: Mapping[str, Any]) -> str:
    shown = {name: " ".join(map(str, v)) or "none" if isinstance(v, list) else v for name, v in sizes.items()}
    return ", ".join(f"{name} = {value}" for name, value in shown.items() if value is not None)


def _picture(folder: Path, picture: Mapping[str, str]) -> str:
    data = _uri(folder / f"{picture['name']}.svg", "image/svg+xml")
    caption = escape(picture["caption"])
    return (
        f'<figure><button type="button" class="zoom" aria-label="Enlarge the figure"><img alt="{caption}" src="{data}">'
        f"</button><figcaption>{caption}</figcaption></figure>"
    )


def _uri(path: Path, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _data_table(table: Mapping[str, Any]) -> str:
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table["rows"])
    if not table["rows"]:
        return ""
    # Verdicts are what the page is for: they are not put behind a scroll bar.
    kind = "whole" if "verdict" in table["columns"] else ""
    return f'<p class="caption">{escape(table["caption"])}</p>' + _table(table["columns"], rows, kind)


def _cell(value: Any) -> str:
    if value is None:
        return "<td>–</td>"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        text = {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
        if text in MARKS:
            return f'<td><span class="badge {_class(text)}">{MARKS[text]} {text}</span></td>'
        return f'<td class="short">{escape(text)}</td>' if len(text) <= SHORT else f"<td>{escape(text)}</td>"
    shown = str(value) if isinstance(value, int) else f"{value:.3g}"
    return f'<td class="number" data-sort="{value!r}">{shown}</td>'


def _judgements(judgements: Sequence[Mapping[str, Any]]) -> str:
    if not judgements:
        return ""
    # Columns that would be empty are left out.
    numbers, reasons = any(not j["prose"] for j in judgements), any(j["why"] for j in judgements)
    columns = ["verdict", "claim", *(["printed"] if numbers else []), "measured", *(["why"] if reasons else [])]
    rows = "".join(
        f'<tr><td><span class="badge {_class(j["verdict"])}">{MARKS[j["verdict"]]} {j["verdict"]}</span></td>'
        f"<td>{escape(j['claim'])}{_where(j)}</td>"
        + (_labelled("printed", "" if j["prose"] else j["printed"]) if numbers else "")
        + _labelled("measured", j["measured"])
        + (_labelled("why", j["why"]) if reasons else "")
        + "</tr>"
        for j in judgements
    )
    return '<p class="caption">Verdicts</p>' + _table(columns, rows, "claims")


def _labelled(label: str, text: str) -> str:
    """A cell that says on a narrow screen, where rows become cards, what it is."""
    short = ' class="short"' if len(text) <= SHORT else ""
    return f'<td{short} data-label="{label if text else ""}">{escape(text)}</td>'


def _where(j: Mapping[str, Any]) -> str:
    return "" if j["claim"] == j["where"] else f'<br><span class="small">{escape(j["where"])}</span>'


def _downloads(folder: Path, s: Mapping[str, Any]) -> str:
    """Each file twice: inside the page, for when only the page was passed on, and the file in the folder beside it."""
    names = [*(f"{table['name']}.csv" for table in s["tables"]), *(["trials.csv"] if s["trials"] else [])]
    links = [
        f'<a download="{escape(_saved(s["name"], name))}" href="{_uri(folder / name, "text/csv;charset=utf-8")}">'
        f'{escape(name)}</a> <span class="small">(<a href="{folder.name}/{name}">{folder.name}/{name}</a>)</span>'
        for name in names
    ]
    return " · ".join(links)


def _saved(section: str, name: str) -> str:
    return name if name.startswith(section) else f"{section}-{name}"


def _foot(about: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    machine = ", ".join(f"{name}: {value}" for name, value in about["machine"].items())
    return (
        f'<footer class="small"><p>Written {escape(about["written"])} by {escape(versions)}.</p><p>{escape(machine)}'
        ".</p><p>Beside this page: reproduction.json (versions, machine, seeds) and trials.jsonl.</p></footer>"
    )
