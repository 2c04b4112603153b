"""How far noise moves a fit: its level, error bars, intervals."""
