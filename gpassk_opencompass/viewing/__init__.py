"""The page of a report over HTTP on this machine: of results that come, or of a report that was written."""
