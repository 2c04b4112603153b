"""The ledger of settings and the rules of verdicts as text, for ``docs/reproduce.md`` and whoever asks in a shell."""

from __future__ import annotations

from collections.abc import Iterator

from unrelu.experiments.base import Setting
from unrelu.experiments.registry import EXPERIMENTS
from unrelu.experiments.rules import RULES

__all__ = ["PARTS", "every_setting", "into", "ledger_text", "rules_text"]


def every_setting() -> Iterator[tuple[str, Setting]]:
    """Each setting of the full run, with the name of its experiment.

    Examples
    --------
    >>> {setting.origin for _, setting in every_setting()} == {"printed", "inferred", "ours"}
    True
    """
    for name, experiment in EXPERIMENTS.items():
        for setting in experiment.ledger(experiment.sizes()):
            yield name, setting


def ledger_text() -> str:
    """The ledger as a table in Markdown."""
    lines = ["| experiment | method | setting | value | origin | how |", "|---|---|---|---|---|---|"]
    for name, s in every_setting():
        cells = (f"`{name}`", s.method, s.name, s.value, s.origin, s.how)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def rules_text() -> str:
    """The rules as a table in Markdown."""
    lines = ["| rule | how it comes to a verdict |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {words} |" for name, words in RULES.items())])


# What stands in the docs between two marks of this name.
PARTS = {"ledger": ledger_text, "rules": rules_text}


def into(page: str, name: str) -> str:
    """A page in Markdown with what belongs between its marks ``<!-- NAME -->`` and ``<!-- end of NAME -->``.

    Examples
    --------
    >>> page = into("before <!-- rules --> old <!-- end of rules --> after", "rules")
    >>> page.splitlines()[2], page.splitlines()[-1]
    ('| rule | how it comes to a verdict |', '<!-- end of rules --> after')
    """
    before, rest = page.split(f"<!-- {name} -->")
    after = rest.split(f"<!-- end of {name} -->")[1]
    return f"{before}<!-- {name} -->\n\n{PARTS[name]()}\n\n<!-- end of {name} -->{after}"
