"""Ctrl-C in the shell: it ends the command at once, or it comes too late; nothing is ever half done.

A KeyboardInterrupt may come out of any line, be taken for another error by whoever stands in between, or be dropped
where nobody can catch it. So the command does not raise one: the first thing it does is :func:`watch`, and from then on
a signal tidies up and ends the process, unless what is going on is :class:`held` together. The library does nothing of
this: there Ctrl-C is the caller's.

This is loaded before everything else, so it loads next to nothing.
"""

from __future__ import annotations

import _thread
import os
import sys

# In the milliseconds that typing and enum take to load, Ctrl-C would not be ours yet.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import NoReturn
else:
    try:
        import _signal as signal  # what signal.py dresses with enum
    except ImportError:
        import signal

__all__ = ["farewell", "finish", "held", "listen", "on_leaving", "watch"]

NOTHING_WRITTEN = "interrupted; nothing was written"


class _Door:
    """Whether one may leave."""

    def __init__(self) -> None:
        self.watching = False
        self.lock = _thread.allocate_lock()
        self.pending = 0  # the signal that came while the lock was taken
        self.code: int | None = None  # of the process, once its work is in place
        self.late = 0  # signals since then
        self.signals: list[int] = []
        self.words = NOTHING_WRITTEN
        self.last_words: Callable[[], object] | None = None
        self.tidying: list[Callable[[], object]] = []


_door = _Door()


def watch() -> None:
    """From here on SIGINT, SIGTERM and SIGHUP end this process with 128 and their number, and with no traceback."""
    if _door.watching:
        return
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Who starts us with a signal ignored (nohup, a script's background) means it.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: _leave(number))
            _door.signals.append(number)
    _door.watching = True


def listen() -> None:
    """Obey signals also during a long computation that has let go of the interpreter.

    Python asks its handlers only between its own steps; a thread need not wait for them.
    """
    if os.name == "posix":
        ear, mouth = os.pipe()
        os.set_blocking(mouth, False)
        signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
        _thread.start_new_thread(_listen, (ear,))


def _listen(ear: int) -> None:
    while True:
        number = os.read(ear, 1)[0]
        if number in _door.signals and _door.code is None:
            _leave(number)


def _leave(number: int) -> None:
    """End the process, or remember that somebody wants it to end."""
    _door.pending = number  # before the lock is asked for: whoever has it looks here after letting go
    if not _door.lock.acquire(False):
        return
    if _door.code is not None:
        _door.lock.release()
        _leave_late(number)
        return
    # The lock is never given back: nobody begins a file after the tidying.
    for tidy in _door.tidying:
        _quietly(tidy)
    if os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb":
        _write("\r\x1b[2K\x1b[?25h")  # a progress bar hides the cursor
    if number == signal.SIGINT and _door.last_words is not None:
        _quietly(_door.last_words)
    _write(_door.words + "\n")
    os._exit(128 + number)


def _leave_late(number: int) -> None:
    """All is in place and only words are left to say: Ctrl-C changes nothing, unless someone insists."""
    _door.late += 1
    if number != signal.SIGINT:
        os._exit(128 + number)
    if _door.late > 1:
        os._exit(_door.code or 0)


def _quietly(action: Callable[[], object]) -> None:
    try:  # noqa: SIM105  (contextlib takes its time, too)
        action()
    except BaseException:
        pass  # there is nobody left to tell, and leaving comes first


def _write(text: str) -> None:
    """Past every buffer, which the code that was interrupted may be in the middle of."""
    _quietly(lambda: os.write(2, text.encode("utf-8", "backslashreplace")))


class held:
    """Hold back signals from a few steps that belong together; they are obeyed after the last.

    Parameters
    ----------
    final : int, optional
        These are the steps that put the command's work in place: signals that come later change neither it nor the exit
        code, which is this.
    """

    def __init__(self, final: int | None = None) -> None:
        self._final = final
        self._taken = False

    def __enter__(self) -> None:
        if _door.watching:
            _door.lock.acquire()
            self._taken = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._taken:
            return
        if self._final is not None and kind is None:
            _door.code = self._final
        _door.lock.release()
        if _door.pending and _door.code is None:
            _leave(_door.pending)


def on_leaving(tidy: Callable[[], object]) -> None:
    """Call this before a signal ends the process: take temporary files away, end other processes."""
    _door.tidying.append(tidy)


def farewell(words: str = NOTHING_WRITTEN, show: Callable[[], object] | None = None) -> None:
    """What is said when a signal ends the process; after Ctrl-C ``show`` is called before."""
    _door.words, _door.last_words = words, show


def finish(code: int) -> NoReturn:
    """End the process at once, with this code: during the interpreter's own shutdown Ctrl-C could still kill it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            _quietly(stream.flush)
    _door.lock.acquire()
    os._exit(code)
