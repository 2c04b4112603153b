"""What decides which entries are seen, told from the data: by the edge of what was seen, and by a fit of the rest."""

from __future__ import annotations
