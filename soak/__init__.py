"""Random instances, each checked against the planted truth: ``python -m soak`` or ``make soak``.

An instance is named ``kind:seed:number``. It is the same on every machine.
"""
