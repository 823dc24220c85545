"""Several data sets under one name."""
