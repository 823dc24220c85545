"""Samples that were drawn once, kept by content, so that a config draws only what is missing."""
