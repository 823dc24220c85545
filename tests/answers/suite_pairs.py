"""The pairs of answers in files beside this one, each equal or not by construction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def pairs_of(name: str) -> list[dict[str, Any]]:
    """The pairs of a file: type, equal, reference, answer, reason and question."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding='utf-8').splitlines()]


SUITE = pairs_of('suite.jsonl')
WRITTEN = SUITE[:555]
"""The pairs written by hand, adversarial ones first; all others were generated."""
