"""Replays of published experiments, one per file, each beside the published numbers in `expected`.

`dataset_table`, `accuracy_ksg`, `accuracy_clf`, `genes` and `redundancy_sonar` each have a function `run` and a command
line, ``python -m unirel.experiments.NAME``.
"""
