"""One data set a file; k, n and the judge are there to be changed."""
