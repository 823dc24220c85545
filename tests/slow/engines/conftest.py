"""Real engines, in the environment that `make test-engines` installs."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from vllm_server import pad_model, vllm_serve


@pytest.fixture(scope='session')
def padded(tmp_path_factory):
    """Folder of the shipped model as vLLM takes it."""
    return pad_model(tmp_path_factory.mktemp('models') / 'padded')


@pytest.fixture(scope='session')
def vllm_url(padded, tmp_path_factory):
    """Address of a vLLM that serves that model as 'm'."""
    if find_spec('vllm') is None:
        pytest.skip('no vLLM here: make test-engines')
    with vllm_serve(padded, tmp_path_factory.mktemp('vllm') / 'log') as url:
        yield url
