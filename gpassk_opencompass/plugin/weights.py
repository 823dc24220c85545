"""Which weights a model has: what identifies the files behind the paths of its entry in a config."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..files import FROM_ENVIRONMENT, mapping, model_files
from ..serving import taken_from_environment

PATHS = ('path', 'tokenizer_path', 'peft_path', 'lora_path')
"""Fields of a model that name files: a path here, or a name on the hub."""

_AT_TOP = ('config.json', 'tokenizer_config.json', 'adapter_config.json')
"""Files of which a repository of the hub has one, and which are there before its weights are loaded."""


def files_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Identify the files behind the paths of a model: by the hub's commit, or by the content of local files.

    Of a file above 1 MiB size, beginning, middle and end count, so that a checkpoint of a terabyte takes
    seconds.

    Args:
        settings: of the model; the hub's revision is that of `model_kwargs`, or of lmdeploy's
            `engine_config`.

    Returns:
        Field of the model, of adapters with their names → commit or digests; nothing of what is not here.
    """
    found = {}
    for name, path in _paths(settings).items():
        local = Path(path).expanduser()
        if local.exists():
            found[name] = model_files(local)
        elif commit := _commit(path, _revision(settings)):
            found[name] = {'commit': commit}
    return found


def variables_of(model: Mapping[str, Any]) -> dict[str, str]:
    """Return what the command line of a model's server takes from the environment, which may be a path.

    Args:
        model: its entry in the config.

    Returns:
        `serve.$NAME` → digest of its value; see `serving.taken_from_environment`.
    """
    taken = taken_from_environment(mapping(model.get('serve')))
    return {f'{FROM_ENVIRONMENT}{name}': digest for name, digest in taken.items()}


def _paths(settings: Mapping[str, Any]) -> dict[str, str]:
    found = {name: settings.get(name) for name in PATHS}
    adapters = mapping(mapping(settings.get('engine_config')).get('adapters'))  # of lmdeploy's PyTorch engine
    found |= {f'engine_config.adapters.{name}': path for name, path in sorted(adapters.items())}
    return {name: path for name, path in found.items() if isinstance(path, str) and path}


def _revision(settings: Mapping[str, Any]) -> str:
    given = (mapping(settings.get(name)).get('revision') for name in ('model_kwargs', 'engine_config'))
    return next((revision for revision in given if isinstance(revision, str) and revision), 'main')


def _commit(name: str, revision: str) -> str:
    """Find the commit that a name on the hub stands for in this machine's cache; '' if it is not there."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    for file in _AT_TOP:
        with suppress(HFValidationError, ValueError, OSError):
            found = try_to_load_from_cache(name, file, revision=revision)
            if isinstance(found, str):
                return Path(found).parent.name
    return ''
