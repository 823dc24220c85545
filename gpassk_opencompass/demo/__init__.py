"""A demo on a laptop CPU: a tiny chat model of the project's own, and its questions."""

from __future__ import annotations

import os

__all__ = ['LANGUAGES', 'MODEL', 'QUESTIONS', 'SPLITS', 'VERSION']

_HERE = os.path.dirname(os.path.abspath(__file__))

MODEL: str = os.path.join(_HERE, 'model')
"""Folder of the shipped model, for `AutoModelForCausalLM.from_pretrained` and OpenCompass's `path`."""

QUESTIONS: str = os.path.join(_HERE, 'questions')
"""Folder of the question set: `<QUESTIONS>/<VERSION>/<SPLIT>_<language>.jsonl`."""

VERSION: str = 'demo'
"""The version name of the question set."""

SPLITS: tuple[str, ...] = ('ADD', 'MUL', 'MIX')
"""Sums, products, and word problems of two steps; each file goes from easy to hard."""

LANGUAGES: tuple[str, ...] = ('cn', 'en')
"""Line i of a split is the same problem in both languages."""
