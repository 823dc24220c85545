"""Scores of what other programs wrote: responses, labels, counts, result files."""
