"""``python -m unrelu``, and the entry point of the ``unrelu`` command."""

from __future__ import annotations

from unrelu.interrupts import finish, listen, watch

__all__ = ["main"]

# A traceback was printed: a defect of this library, which must not be taken for "not converged".
DEFECT = 70


def main() -> None:
    """Run the command. Nothing heavy is loaded before signals are watched, and nothing is done after the last word."""
    watch()
    from unrelu.shell.streams import prepare

    prepare()
    listen()  # not before: it opens a pipe, which must not become standard error
    from unrelu.cli import app

    try:
        app()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except Exception:
        from traceback import print_exc

        print_exc()
        code = DEFECT
    finish(code)


if __name__ == "__main__":
    main()
