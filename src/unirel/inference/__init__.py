"""Tests, stability, redundancy and relations between features."""
