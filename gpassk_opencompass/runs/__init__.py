"""The runs of a sweep: in what state each one is, and `opencompass` for those that are not complete."""
