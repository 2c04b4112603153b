"""The verdicts of a run as text: what a reader of the folder sees without a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unrelu._old.experiments.rules import VERDICTS
from unrelu._old.experiments.summary import Sentence, main_claims, summary

__all__ = ["digest"]

# Misprints are counted apart: they say nothing of what the paper found.
ERRATA = "table-errata"


def digest(sections: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    """Counts, a summary in sentences and a table for every experiment, in Markdown.

    Parameters
    ----------
    sections : list of dict
        What :func:`unrelu._old.experiments.outputs.write_files` returned, in the order of the page.
    about : dict
        Versions, machine, seeds.
    """
    quick = any(section["quick"] for section in sections)
    foretaste = " A quick run: fewer trials and smaller sizes than in the paper." if quick else ""
    agreement = about["odd and even trials"]
    parts = [
        "# Symmetric matrix completion with ReLU sampling, reproduced",
        f"What `unrelu reproduce` measured, beside what the paper says.{foretaste} [report.html](report.html) is the "
        "page with all tables and figures, one file to be opened in a browser; the folders hold every trial.",
        *filter(None, map(_sentence, summary(sections, main_claims()))),
        "\n".join(
            [
                "| | " + " | ".join(VERDICTS) + " |",
                "|---" * (len(VERDICTS) + 1) + "|",
                _counts("claims and numbers of the paper", [s for s in sections if s["name"] != ERRATA], "counts"),
                _counts("steps and formulas printed wrongly", [s for s in sections if s["name"] == ERRATA], "counts"),
                _counts("claims that are not the paper's", sections, "counts_ours"),
            ]
        ),
        f"Odd and even trials, judged apart, agree on {agreement['agree']} of {agreement['lines']} lines; those on "
        "which they do not are marked ≈, for they are near their bound.",
    ]
    for section in sections:
        if section["judgements"]:
            parts += [
                f"## {section['title']}",
                f"`{section['command']}` · {section['where']} · {section['setting']} · "
                f"[trials]({section['name']}/trials.csv), [verdicts]({section['name']}/verdicts.csv)",
                _table(section["judgements"]),
            ]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    machine = ", ".join(f"{name}: {value}" for name, value in about["machine"].items())
    parts.append(f"Written {about['written']} by {versions}; {machine}.")
    return "\n\n".join(parts) + "\n"


def _sentence(sentence: Sentence) -> str:
    named = "; ".join(phrase.text for phrase in sentence.phrases)
    untested = "; ".join(phrase.text for phrase in sentence.untested)
    parts = [f"{named} {sentence.tail}".strip() if named else "", f"not tested: {untested}" if untested else ""]
    return f"**{sentence.lead}** {'. '.join(filter(None, parts))}." if any(parts) else ""


def _counts(whose: str, sections: Sequence[Mapping[str, Any]], name: str) -> str:
    numbers = (str(sum(section[name].get(verdict, 0) for section in sections)) for verdict in VERDICTS)
    return f"| {whose} | " + " | ".join(numbers) + " |"


def _table(judgements: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| verdict | claim | measured |", "|---|---|---|"]
    for j in judgements:
        case = f" ({j['case']})" if j["case"] else ""
        printed = "" if j["prose"] else f": {j['printed']}"
        rests = f", rests on {', '.join(j['rests'])}" if j["rests"] else ""
        verdict = f"**{j['verdict']}**{' ≈' if j['near'] else ''}{rests}"
        measured = j["measured"] + (f". {j['why']}" if j["why"] else "")
        cells = (verdict, f"{j['claim']}{case}{printed}", measured)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
