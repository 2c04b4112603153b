"""Say that something will not fit before trying to allocate it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from unrelu._old.base.errors import InputError

__all__ = ["available_memory", "require_memory"]


def available_memory() -> int | None:
    """Bytes that can still be allocated without swapping, or None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def require_memory(needed: int | Literal[True], what: str) -> None:
    """Raise an :class:`InputError` if ``needed`` bytes are more than the machine has left; True: others have room."""
    available = None if needed is True else available_memory()
    if available is not None and needed > available:
        raise InputError(
            f"{what} needs about {needed / 2**30:.1f} GiB of memory and {available / 2**30:.1f} GiB are available; "
            "pass fewer rows, or float32 values, which need half"
        )
