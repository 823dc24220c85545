"""Tables from result records."""
