"""Requests for chat completions, many at once over several servers, for judges and for models under test."""
