"""These tests run where Lighteval is installed (`make test-lighteval`); elsewhere they are not collected."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

# Not find_spec: with tests/ on the path, this folder would be found under that name.
try:
    version('lighteval')
    collect_ignore_glob = []
except PackageNotFoundError:
    collect_ignore_glob = ['test_*.py']
