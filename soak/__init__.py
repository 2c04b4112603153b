"""Hours of random instances, each checked against the planted truth: ``python -m soak`` or ``make soak``.

An instance is named ``kind:seed:number``. It is the same on every machine, whichever worker draws it, and whenever.
"""
