"""Record what vLLM and its server take, from wheels, whose package imports only with CUDA.

pip download --no-deps --only-binary :all: vllm==0.33.0
python tests/recorded/record_vllm.py vllm-*.whl > tests/recorded/vllm.json
"""

from __future__ import annotations

import ast
import json
import sys
import zipfile
from pathlib import Path

SAMPLING = 'vllm/sampling_params.py'
REQUEST = ('vllm/entrypoints/openai/chat_completion/protocol.py', 'vllm/entrypoints/openai/protocol.py')
"""Where the server's request is, in newer and in older versions."""

OUTPUTS = 'vllm/outputs.py'
"""What `LLM.generate` returns."""


def fields_of(source: str, name: str) -> dict[str, str]:
    """Name → annotation and default of each public field of a class, as written."""
    (cls,) = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return {
        node.target.id: f'{ast.unparse(node.annotation)} = {ast.unparse(node.value) if node.value else "?"}'
        for node in cls.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and not node.target.id.startswith('_')
    }


def arguments_of(source: str, name: str) -> dict[str, str]:
    """Name → annotation of each argument with which a class is built, all of which it keeps."""
    (made,) = [
        function
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef) and node.name == name
        for function in node.body
        if isinstance(function, ast.FunctionDef) and function.name == '__init__'
    ]
    kept = {
        node.attr
        for node in ast.walk(made)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return {
        argument.arg: ast.unparse(argument.annotation) if argument.annotation else '?'
        for argument in made.args.args
        if argument.arg in kept
    }


def record(wheel: Path) -> dict[str, object]:
    """Version, source and fields of one wheel."""
    version = wheel.name.split('-')[1]
    archive = zipfile.ZipFile(wheel)
    request = next(path for path in REQUEST if path in archive.namelist())
    source = f'https://github.com/vllm-project/vllm/blob/v{version}'
    return {
        'version': version,
        'wheel': wheel.name,
        'SamplingParams': {
            'source': f'{source}/{SAMPLING}',
            'fields': fields_of(archive.read(SAMPLING).decode('utf-8'), 'SamplingParams'),
        },
        'ChatCompletionRequest': {
            'source': f'{source}/{request}',
            'fields': fields_of(archive.read(request).decode('utf-8'), 'ChatCompletionRequest'),
        },
        'RequestOutput': {
            'source': f'{source}/{OUTPUTS}',
            'fields': arguments_of(archive.read(OUTPUTS).decode('utf-8'), 'RequestOutput'),
        },
        'CompletionOutput': {
            'source': f'{source}/{OUTPUTS}',
            'fields': fields_of(archive.read(OUTPUTS).decode('utf-8'), 'CompletionOutput'),
        },
    }


if __name__ == '__main__':
    json.dump([record(Path(wheel)) for wheel in sys.argv[1:]], sys.stdout, indent=1)
    print()
