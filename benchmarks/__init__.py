"""Speed beside OpenCompass's own path, other graders and bare libraries: `python -m benchmarks NAME`.

`answers` compares verdicts instead of seconds, `guard` fails where a stage became slower.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Where `python -m benchmarks.…` is started."""
