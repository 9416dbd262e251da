"""Ranking data: files in and out, generators, the embedded sample."""
