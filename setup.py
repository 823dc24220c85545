"""Metadata and extras; tool settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent

OPENCOMPASS = [
    'opencompass==0.5.4',
    # It needs numpy < 2, pyarrow 26 needs numpy >= 2: without this bound `import datasets` fails.
    'pyarrow<26',
    # transformers 5 dropped a tokenizer call that its HuggingFace wrapper uses.
    'transformers<5',
]

setup(
    name='gpassk_opencompass',
    version=re.search(r"__version__ = '(.+)'", (ROOT / 'gpassk_opencompass/version.py').read_text()).group(1),
    description='G-Pass@k for OpenCompass: how stably does a language model reason?',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    python_requires='>=3.10',
    packages=find_packages(include=['gpassk_opencompass', 'gpassk_opencompass.*']),
    package_data={
        'gpassk_opencompass': ['py.typed', 'question_numbers/*.jsonl', 'schemas/*.json'],
        'gpassk_opencompass.report.page': ['files/*'],
        'gpassk_opencompass.demo': ['model/*', 'questions/*/*.jsonl'],
    },
    entry_points={'console_scripts': ['gpassk = gpassk_opencompass.cli:main']},
    install_requires=[
        'aiohttp>=3.9',
        'loguru>=0.7',
        'math-verify>=0.5.2',
        'numpy>=1.23',
        'pydantic>=2.7',
        'scipy>=1.10',
        'tabulate>=0.9',
        'tqdm>=4.60',
    ],
    extras_require={
        'opencompass': OPENCOMPASS,
        'lmdeploy': [*OPENCOMPASS, 'lmdeploy>=0.6'],
        'vllm': [*OPENCOMPASS, 'vllm'],
        'lighteval': ['lighteval==0.13.0'],
        'report': ['jinja2', 'latex2mathml', 'matplotlib>=3.6', 'pyarrow'],
        'dev': [
            'pytest>=8,<9.2',  # pytest-xdist 3.8 groups no tests with 9.2: fixtures of minutes are made twice
            'pytest-cov',
            'pytest-xdist',
            'hypothesis',
            'jsonschema',
            'mkdocs-material',
            'mypy',
            'ruff',
            'selenium',
            'types-tabulate',
        ],
    },
    classifiers=[
        'License :: OSI Approved :: Apache Software License',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
    ],
)
