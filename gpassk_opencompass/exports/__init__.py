"""Results in the files of others: tables with a row a sample, lm-eval; and the responses of a result."""
