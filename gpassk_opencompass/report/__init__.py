"""Tables, figures, a page and comparisons from result records."""
