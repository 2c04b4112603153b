"""Tables and figures that a command prints: ``python -m unrelu.experiments table-families --quick``."""
