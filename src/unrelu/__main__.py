"""``python -m unrelu``, and the entry point of the ``unrelu`` command."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; Ctrl-C while it is still being loaded is exit code 130 like any other."""
    try:
        from unrelu.cli import app
    except KeyboardInterrupt:
        sys.exit(130)
    app()


if __name__ == "__main__":
    main()
