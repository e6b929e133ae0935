"""Classifiers: those that the package knows by name, and what a classifier loses without a feature."""
