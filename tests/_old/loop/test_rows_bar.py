"""A run over rows says what it does, how many rows are done, how much was read and how long it will take."""

import io
import re
import threading

import pytest
from rich.console import Console

from unrelu import Record
from unrelu._old.loop import rows_bar
from unrelu._old.loop.rows_bar import NoRows, RowLines, Rows, RowsBar, rows_watched


def drawn(tell, width=160):
    """What a terminal shows while a bar is told something."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=width, color_system=None)
    with RowsBar(console) as bar:
        tell(bar)
        bar._bar.refresh()
        shown = text.getvalue()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", shown).replace("\n", "\r").split("\r"), text.getvalue()


def test_a_bar_shows_phase_rows_bytes_and_time_left():
    def tell(bar):
        bar.begin("attaching rows", 1_000_000)
        for _ in range(3):
            bar.advance(100_000, 400_000_000)

    lines, _ = drawn(tell)
    last = [line for line in lines if line.strip()][-1]
    assert last.startswith("attaching rows ")
    assert "300,000 of 1,000,000 rows, 1.2 GB read" in last
    assert re.search(r"(--|\d\d):\d\d$|--:--$", last.strip())


def test_a_bar_knows_how_long_it_will_take():
    def tell(bar):
        now = [0.0]
        bar._bar.get_time = lambda: now[0]
        bar.begin("attaching rows", 100)
        for _ in range(20):
            now[0] += 1.0
            bar.advance(2, 0)

    lines, _ = drawn(tell)
    assert [line for line in lines if line.strip()][-1].strip().endswith("00:30")  # 60 rows at 2 in a second


def test_a_phase_begins_anew_and_what_was_read_is_kept():
    def tell(bar):
        bar.begin("attaching rows", 10)
        bar.advance(10, 5000)
        bar.begin("polishing", 20)
        bar.advance(1, 1000)

    lines, _ = drawn(tell)
    last = [line for line in lines if line.strip()][-1]
    assert last.startswith("polishing ")
    assert "1 of 20 rows, 6.0 kB read" in last
    assert "attaching" not in last


def test_a_phase_without_rows_counts_none():
    def tell(bar):
        bar.begin("attaching rows", 10)
        bar.advance(3, 0)
        bar.phase("solving [a block]")

    lines, _ = drawn(tell)
    last = [line for line in lines if line.strip()][-1]
    assert last.startswith("solving [a block] ")
    assert "rows" not in last


def test_nothing_of_a_bar_is_left_behind():
    _, text = drawn(lambda bar: bar.begin("attaching rows", 10))
    assert text.endswith("\x1b[2K")  # the line is erased
    assert "\x1b[?25h" in text  # and the cursor is back


def test_a_bar_is_drawn_on_standard_error(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with RowsBar() as bar:
        bar.begin("attaching rows", 10)
        bar._bar.refresh()
    heard = capsys.readouterr()
    assert heard.out == ""
    assert "attaching rows" in heard.err


@pytest.mark.parametrize("make", [RowsBar, lambda: RowLines(print)])
def test_many_threads_may_tell(make):
    rows = make()
    rows.begin("attaching rows", 8000)
    threads = [threading.Thread(target=lambda: [rows.advance(1, 8) for _ in range(1000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = rows._done if isinstance(rows, RowLines) else rows._bar.tasks[0].completed
    assert (done, rows._read) == (8000, 64000)


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(rows_bar, "monotonic", lambda: now[0])
    monkeypatch.setattr("unrelu._old.loop.progress.monotonic", lambda: now[0])

    def at(lines, seconds):
        now[0] = 100.0 + seconds
        lines.look(now[0])

    return at


def test_lines_come_after_a_second_and_then_every_ten(clock):
    said = []
    lines = RowLines(said.append)
    lines.begin("attaching rows", 1_000_000)
    clock(lines, 0.5)
    assert said == []
    lines.advance(100_000, 400_000_000)
    clock(lines, 2)
    assert said == ["attaching rows: 100,000 of 1,000,000 rows, 400.0 MB read, about 18 s left"]
    lines.advance(100_000, 400_000_000)
    clock(lines, 11)
    assert len(said) == 1
    clock(lines, 12)
    assert said[1:] == ["attaching rows: 200,000 of 1,000,000 rows, 800.0 MB read, about 48 s left"]


def test_lines_of_a_new_phase_count_anew(clock):
    said = []
    lines = RowLines(said.append)
    lines.begin("attaching rows", 10)
    lines.advance(10, 4000)
    clock(lines, 2)
    lines.begin("polishing", 20)
    clock(lines, 4)
    lines.phase("finding the noise")
    clock(lines, 6)
    assert said == [
        "attaching rows: 10 of 10 rows, 4.0 kB read, about 0 s left",
        "polishing: 0 of 20 rows, 4.0 kB read",
        "finding the noise, 2 s so far",
    ]


def test_lines_come_by_themselves_and_end_with_the_run():
    said, heard = [], threading.Event()

    def say(line):
        said.append(line)
        heard.set()

    with RowLines(say) as lines:
        lines.begin("attaching rows", 10)
        assert heard.wait(10)
    assert said == ["attaching rows: 0 of 10 rows"]
    assert lines._ended.is_set()


def test_nothing_is_said_of_single_iterations():
    said = []
    RowLines(said.append)(Record(0, 1.0, 1.0, 0.0))
    assert said == []


@pytest.mark.parametrize(("progress", "kind"), [(False, NoRows), (True, RowsBar)])
def test_whom_a_run_tells(progress, kind):
    with rows_watched(progress) as rows:
        assert isinstance(rows, kind)
    with rows_watched(progress, lambda record: None) as rows:
        assert isinstance(rows, kind)
    lines = RowLines(print)
    with lines, rows_watched(progress, lines) as rows:
        assert rows is lines
    assert all(isinstance(one, Rows) for one in (NoRows(), RowsBar(), lines))


def test_nobody_is_told():
    with NoRows() as rows:
        rows.begin("attaching rows", 10)
        rows.advance(1, 8)
        rows.phase("polishing")
