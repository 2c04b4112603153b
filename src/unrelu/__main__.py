"""``python -m unrelu``, and the entry point of the ``unrelu`` command."""

from __future__ import annotations

import os
import sys
from traceback import print_exc

__all__ = ["main"]

BAD_OUTPUT = BAD_USAGE = 2
# A traceback was printed: a defect of this library, not a run without an answer.
DEFECT = 70
INTERRUPTED = 130


def main() -> None:
    """Run the command and exit with its code."""
    try:
        from unrelu._old.cli import app
        from unrelu._old.shell.streams import prepare

        prepare()
        app(prog_name="unrelu")
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        left = error.__context__
        if isinstance(left, BrokenPipeError):
            # Nobody reads the help any more, which is no failure.
            code = BAD_USAGE if _usage(left) else 0
    except KeyboardInterrupt:  # while modules are loaded; commands report their own files
        print("interrupted; nothing was written", file=sys.stderr)  # noqa: T201
        code = INTERRUPTED
    except OSError as error:  # of the help; commands report their own output
        from unrelu._old.shell.streams import say

        say(f"error: standard output cannot be written: {error.strerror or error}")
        code = BAD_OUTPUT
    except Exception:
        print_exc()
        code = DEFECT
    _flush()
    sys.exit(code)


def _flush() -> None:
    """Flush standard output; a reader that has gone is no error."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _usage(error: BaseException | None) -> bool:
    """Return whether this was raised while a usage error was printed."""
    while error is not None:
        if hasattr(error, "exit_code") and hasattr(error, "show"):  # of click, of which typer may have its own copy
            return True
        error = error.__context__
    return False


if __name__ == "__main__":
    main()
