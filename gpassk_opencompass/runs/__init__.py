"""The runs of a sweep: in what state each one is, and `opencompass` for those that are not complete.

Nothing is imported here: who only looks into a work directory needs neither judges nor servers.
"""
