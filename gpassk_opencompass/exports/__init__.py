"""Results in the files of other programs: a table with a row a sample, Every Eval Ever, lm-eval."""
