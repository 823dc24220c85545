"""Real engines, in the environment that `make test-engines` installs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from vllm_server import pad_model, vllm_serve


@pytest.fixture(scope='session')
def padded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the shipped model as vLLM takes it."""
    return pad_model(tmp_path_factory.mktemp('models') / 'padded')


@pytest.fixture(scope='session')
def vllm_url(padded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a vLLM that serves that model as 'm'."""
    if find_spec('vllm') is None:
        pytest.skip('no vLLM here: make test-engines')
    with vllm_serve(padded, tmp_path_factory.mktemp('vllm') / 'log') as url:
        yield url
