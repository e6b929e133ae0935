"""The replay of the publication: its tables computed again, beside the published numbers.

``python -m paper`` lists the tables. It is no part of the installed package. `results` has what was computed, and says
by which version; `expected` has the numbers of the paper.
"""
