"""Schemas of a run's JSON files: run.json, projection.json, metrics.json and the lines of events.jsonl.

All of these files are read through these schemas, those of an imported archive too. Types are strict: no conversion
between text and numbers, no NaN, no infinity. Unknown keys are dropped: a newer version may have written them.
"""
