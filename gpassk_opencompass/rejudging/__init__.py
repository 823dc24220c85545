"""Predictions of OpenCompass's own LiveMathBench runs, found, read, and judged anew."""
