"""Pages whose Python prints what stands below it.

``python tests/pages.py docs/real-data.md`` writes what is printed today into the page.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

BLOCKS = re.compile(r"```(python|text)\n(.*?)```", flags=re.DOTALL)


def sections(page):
    """The parts of a page under its headings; each runs by itself."""
    return re.split(r"(?m)^(?=## )", page)


def run(section):
    """What stands in the text blocks of a section, and what the Python above each of them prints."""
    names, printed = {"__name__": "page"}, io.StringIO()
    for language, block in BLOCKS.findall(section):
        if language == "text":
            yield block, printed.getvalue()
            printed = io.StringIO()
            continue
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "page", "exec"), names)
    assert not printed.getvalue(), "Python that prints must have a text block below it"


def rewritten(section):
    """The section with what it prints."""
    said = iter([printed for _, printed in run(section)])
    return BLOCKS.sub(lambda found: f"```text\n{next(said)}```" if found[1] == "text" else found[0], section)


if __name__ == "__main__":
    path = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        path.write_text("".join(map(rewritten, sections(path.read_text()))))
