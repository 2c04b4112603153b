"""Pieces of the report page: badges, tables that fold into cards, figures, files."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from unrelu._old.experiments.rules import BETTER, DEPENDS, NOT_REPRODUCED, NOT_TESTED, REPRODUCED, VERDICTS

__all__ = [
    "badge",
    "bar",
    "cell",
    "count_badges",
    "data_table",
    "data_uri",
    "file_size",
    "made_cell",
    "picture",
    "slug",
    "table",
    "words",
]

MARKS = {REPRODUCED: "✓", BETTER: "★", NOT_REPRODUCED: "✗", DEPENDS: "◐", NOT_TESTED: "○"}
# Texts up to this length are not broken over lines.
SHORT = 22
# For the width that a table needs: a letter of the widest usual typeface, a cell's padding, the arrow of a heading; the
# same of tables with many columns, which are set smaller.
LETTER, PADDING, ARROW = 8.0, 20, 18
DENSE_LETTER, DENSE_PADDING, DENSE_ARROW = 8.0, 12, 6
MANY_COLUMNS = 8
# A column of running text is not made narrower than so many letters; a verdict's badge has room beside its words.
TEXT_LETTERS, DENSE_TEXT_LETTERS, BADGE_LETTERS = 20, 12, 5
# Tables are sorted into widths by this step in pixels; one that needs less than the first fits every phone.
WIDTH_STEP, FITS = 40, 300
# How much larger than drawn figures are shown at most, the wide ones and the narrow ones.
LARGER, LARGER_NARROW = 1.15, 1.35


def slug(text: str) -> str:
    """A name for classes and anchors.

    Examples
    --------
    >>> slug("depends on the setting")
    'depends-on-the-setting'
    """
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-")


def listed(words: Sequence[str]) -> str:
    """Words with commas and a last "and".

    Examples
    --------
    >>> listed(["the step"]), listed(["the step", "the cap", "ρ"])
    ('the step', 'the step, the cap and ρ')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _with_article(name: str) -> str:
    """The setting in a sentence: "the step", but "ρ"; "α, β" and names with an article stay as they are."""
    plain = re.match(r"[A-Za-z]{2}", name) and not re.match(r"(the|whose|which|how) ", name)
    return f"the {name}" if plain else name


def badge(verdict: str, text: str = "", *, rests: Sequence[str] = (), ledger: str = "") -> str:
    """A verdict as mark and words, with the settings on which it rests; they link to the ``ledger``.

    Examples
    --------
    >>> import re
    >>> re.sub("<.*?>", "", badge("reproduced", rests=["step", "ρ"], ledger="figure-ledger"))
    '✓ reproduced · rests on the step and ρ'
    """
    said = ""
    if rests and verdict != NOT_TESTED:
        words = escape(listed([_with_article(name) for name in rests]))
        words = words if verdict == DEPENDS else f"rests on {words}"
        said = f' · <a href="#{escape(ledger)}">{words}</a>' if ledger else f" · {words}"
    return (
        f'<span class="badge {slug(verdict)}"><span class="mark" aria-hidden="true">{MARKS[verdict]}</span> '
        f"{escape(text or verdict)}{said}</span>"
    )


def count_badges(counts: Mapping[str, int]) -> str:
    """So many of each verdict; none of those that did not occur."""
    return " ".join(badge(verdict, f"{counts[verdict]} {verdict}") for verdict in VERDICTS if counts.get(verdict))


def bar(counts: Mapping[str, int]) -> str:
    """The shares of the verdicts as a strip of colour; the badges beside it say the same in words."""
    parts = "".join(
        f'<span class="{slug(verdict)}" style="flex-grow:{counts[verdict]}"></span>'
        for verdict in VERDICTS
        if counts.get(verdict)
    )
    return f'<div class="bar" aria-hidden="true">{parts}</div>' if parts else ""


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], needs: float, kind: str = "") -> str:
    """A table that sorts by its headings, and folds into cards where there is less room than it needs.

    ``rows`` are cells as :func:`cell` makes them; ``needs`` is a width in pixels (:func:`needed`).
    """
    heads = "".join(
        f'<th scope="col" aria-sort="none"{_alignment(place, rows)}><button type="button">{escape(column)}</button>'
        "</th>"
        for place, column in enumerate(columns)
    )
    lines = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
    width = f" w{folds(needs)}" if needs > FITS else ""
    return (
        f'<div class="table{width}"><table class="sortable {kind}"><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{lines}</tbody></table></div>\n"
    )


def _alignment(place: int, rows: Sequence[Sequence[str]]) -> str:
    """A heading stands over its numbers, at the right."""
    return ' class="number"' if any(row[place].startswith('<td class="number"') for row in rows) else ""


def data_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], sections: Sequence[str]) -> str:
    """A table of values; ``sections`` are names that become links."""
    cells = [[cell(value, column, sections) for value, column in zip(row, columns, strict=True)] for row in rows]
    for place, column in enumerate(columns):
        if _alignment(place, cells):
            for row, line in zip(rows, cells, strict=True):
                if shown(row[place]) == "–":
                    line[place] = made_cell("–", column, "number")
    return table(columns, cells, needed(columns, rows), "dense" if len(columns) > MANY_COLUMNS else "plain")


def folds(needs: float) -> int:
    """The room in pixels below which a table becomes cards.

    Examples
    --------
    >>> folds(310), folds(640)
    (320, 640)
    """
    return WIDTH_STEP * math.ceil(needs / WIDTH_STEP)


def needed(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> float:
    """About how many pixels wide a table of these values is.

    Examples
    --------
    >>> needed(["rank", "error"], [[5, 1e-7], [10, 0.25]]) < needed(["rank", "why"], [[5, "words " * 20]])
    True
    """
    dense = len(columns) > MANY_COLUMNS
    letter, padding, arrow = (DENSE_LETTER, DENSE_PADDING, DENSE_ARROW) if dense else (LETTER, PADDING, ARROW)
    total = 0.0
    for place, column in enumerate(columns):
        head = max(map(len, column.split()), default=0) * letter + arrow
        letters = (_letters(shown(row[place]), dense) for row in rows)
        total += padding + max(head, letter * max(letters, default=0))
    return total


def _letters(text: str, dense: bool) -> int:
    if text in MARKS:
        return len(text) + BADGE_LETTERS
    words = max(map(len, text.split()), default=0)
    if len(text) <= SHORT:
        return words if dense else len(text)
    return max(DENSE_TEXT_LETTERS if dense else TEXT_LETTERS, words)


def shown(value: Any) -> str:
    """A value of a table in words.

    Examples
    --------
    >>> [shown(value) for value in (None, True, 12, 1.5e-07, 1812.4, float("inf"), float("nan"), "GD")]
    ['–', 'yes', '12', '1.5e-7', '1812', '∞', '–', 'GD']
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isinf(value):
            return "∞" if value > 0 else "-∞"
        if 100 <= abs(value) < 1e5:
            return f"{value:.0f}"
        return re.sub(r"e([+-])0?(\d)", lambda found: f"e{found[1].replace('+', '')}{found[2]}", f"{value:.3g}")
    return str(value)


def cell(value: Any, label: str, sections: Sequence[str] = ()) -> str:
    """A cell with its column's name, which stands before the value in cards; a verdict gets its badge."""
    text, name = shown(value), f' data-label="{escape(label)}"'
    if isinstance(value, (int, float)) and not isinstance(value, bool) and text != "–":
        order = str(value).replace("inf", "Infinity")
        return f'<td class="number" data-sort="{order}"{name}>{text}</td>'
    if text in MARKS:
        return f'<td class="judged" data-label="">{badge(text)}</td>'
    if text in sections:
        return f'<td class="short"{name}><a href="#{escape(text)}">{escape(text)}</a></td>'
    return f'<td class="{"short" if len(text) <= SHORT else "long"}"{name}>{words(text)}</td>'


# Numbers with an exponent or a deviation are not broken: a browser would break after the hyphen.
WHOLE = re.compile(r"-?\d[\d.]*(?:e-\d+)?(?: ± \S*\d)|-?\d[\d.]*e-\d+")


def words(text: str) -> str:
    """Text as markup, its numbers whole.

    Examples
    --------
    >>> words("9.7e-07 ± 1.6e-08 < 1")
    '<span class="n">9.7e-07 ± 1.6e-08</span> &lt; 1'
    """
    return WHOLE.sub(lambda found: f'<span class="n">{found[0]}</span>', escape(text))


def made_cell(markup: str, label: str, kind: str = "") -> str:
    """A cell of ready markup."""
    return f'<td class="{kind}" data-label="{escape(label)}">{markup}</td>'


def data_uri(content: bytes, kind: str) -> str:
    """A file inside the page."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def file_size(path: Path) -> str:
    """The size of a file in words; nothing if it is not there."""
    try:
        size = path.stat().st_size
    except OSError:
        return ""
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"


# Numbers of paths and places to a hundredth of a point: what is left out is far below a pixel. Not those of a
# transform, which may be small factors, and none in the text.
PLACES = re.compile(r' (?:d|x|y|points)="[^"]*"')
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
LEFT_OUT = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", flags=re.DOTALL)


def _classes(svg: str) -> str:
    """Styles of lines and marks that repeat as classes; those of text stay, and its font is said once."""
    font = re.search(r"font-family: [^;\"]*", svg)
    if font is not None:
        svg = svg.replace(f"{font[0]}; ", "").replace("<svg ", f'<svg style="{font[0]}" ', 1)
    found = re.findall(r'<(?:use|path)[^>]*? style="([^"]*)"', svg)
    often = [style for style in dict.fromkeys(found) if found.count(style) > 2]
    for place, style in enumerate(often):
        svg = re.sub(rf'(<(?:use|path)[^>]*?) style="{re.escape(style)}"', rf'\1 class="c{place}"', svg)
    rules = "".join(f".c{place}{{{style}}}" for place, style in enumerate(often))
    return svg.replace("<defs>", f"<defs><style>{rules}</style>", 1) if often else svg


def slim(svg: str) -> str:
    r"""A drawing without what no reader sees: comments, metadata, digits beyond a hundredth of a point.

    Examples
    --------
    >>> slim('<!-- a --><path d="M 1.234567 2.5 \nL 3.999999 4"/>\n<text x="0.125">0.125</text>')
    '<path d="M 1.23 2.5 L 4 4"/><text x="0.12">0.125</text>'
    """
    svg = PLACES.sub(lambda places: LONG_NUMBER.sub(_rounded, places[0]), LEFT_OUT.sub("", svg))
    svg = re.sub(r"\s*\n\s*", " ", svg).replace("> <", "><").strip()
    return _classes(re.sub(r' transform="rotate\(-?0 [^"]*"| id="[a-z]+\w*_\d+"', "", svg))


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def picture(folder: Path, about: Mapping[str, str]) -> str:
    """A figure in both drawings: the narrow one on a phone, the wide one on paper and on wider screens."""
    name, caption = about["name"], escape(about["caption"])
    wide = folder / f"{name}.svg"
    narrow = folder / f"{name}-narrow.svg"
    return (
        f'<figure><button type="button" class="zoom" aria-label="Enlarge the figure"><picture>'
        f'<source media="print, (min-width: 700px)" {_drawing(wide, "srcset", LARGER)}>'
        f'<img alt="{caption}" {_drawing(narrow if narrow.is_file() else wide, "src", LARGER_NARROW)}></picture>'
        f"</button><figcaption>{caption}</figcaption></figure>\n"
    )


def _drawing(path: Path, attribute: str, larger: float) -> str:
    svg = slim(path.read_text(encoding="utf-8"))
    found = re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"', svg)
    # Points to pixels; the height keeps its place free until the drawing is there.
    sizes = [round(float(side) * larger * 96 / 72) for side in found.groups()] if found else []
    given = f' width="{sizes[0]}" height="{sizes[1]}"' if sizes else ""
    return f'{attribute}="{data_uri(svg.encode(), "image/svg+xml")}"{given}'
