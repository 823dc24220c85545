"""Metadata, extras, and what goes into the wheel; tool settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent

VERSION = re.search(r"__version__ = '(.+)'", (ROOT / 'gpassk_opencompass/version.py').read_text()).group(1)

REPOSITORY = ''
"""Where the source is published, e.g. 'https://github.com/OWNER/NAME'; '' if that is nowhere yet."""

OPENCOMPASS = [
    'opencompass==0.5.4',
    # datasets 2 cannot be imported beside pyarrow 25; uv chooses it all the same if it may.
    'datasets>=3',
    # It needs numpy < 2, pyarrow 26 needs numpy >= 2: without this bound `import datasets` fails.
    'pyarrow<26',
    # transformers 5 dropped a tokenizer call that its HuggingFace wrapper uses.
    'transformers<5',
    'filelock',
]

LIGHTEVAL = [
    'lighteval==0.13.0',
    # transformers 4 keeps huggingface_hub below 2, whose list_models no longer takes Lighteval's model_name.
    'transformers<5',
    # Lighteval hands it texts, xxhash 4 takes bytes alone.
    'xxhash<4',
]


class WithTemplates(build_py):
    """Puts config_templates/ into the package, for those who have no clone."""

    def run(self):
        """As ever, and then the templates; an editable install finds them where they are."""
        super().run()
        if not self.editable_mode:
            folder = Path(self.build_lib, 'gpassk_opencompass/templates')
            self.mkpath(str(folder))
            for template in sorted(ROOT.glob('config_templates/*.py')):
                self.copy_file(str(template), str(folder / template.name))


def index_page(readme, repository, version):
    """The README for the page of a package index, where relative links and pictures lead nowhere.

    With a repository they lead to its files of this version; without, links become their text, and lines
    that are pictures are left out.
    """
    if not repository:
        readme = re.sub(r'^!\[[^\]]*\]\((?!https?:)[^)]+\)\n\n?', '', readme, flags=re.MULTILINE)
        return re.sub(r'\[([^\]]+)\]\((?!https?:|#)[^)]+\)', r'\1', readme)
    readme = re.sub(r'(!\[[^\]]*\]\()(?!https?:)', rf'\1{repository}/raw/v{version}/', readme)
    return re.sub(r'((?<!!)\[[^\]]+\]\()(?!https?:|#)', rf'\1{repository}/blob/v{version}/', readme)


def project_urls(repository, version):
    """Pages that are there."""
    own = {
        'Source': repository,
        'Documentation': f'{repository}/tree/v{version}/docs',
        'Changelog': f'{repository}/blob/v{version}/CHANGELOG.md',
    }
    return {**(own if repository else {}), 'Paper': 'https://arxiv.org/abs/2412.13147'}


setup(
    name='gpassk_opencompass',
    version=VERSION,
    description='G-Pass@k for OpenCompass and Lighteval: how stably does a language model reason?',
    long_description=index_page((ROOT / 'README.md').read_text(encoding='utf-8'), REPOSITORY, VERSION),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    license_files=['LICENSE'],
    project_urls=project_urls(REPOSITORY, VERSION),
    keywords=[
        'evaluation',
        'G-Pass@k',
        'large language models',
        'LiveMathBench',
        'LLM as a judge',
        'mathematical reasoning',
        'OpenCompass',
        'pass@k',
        'stability',
    ],
    # Each ran the demo from the wheel and the tests of the core; OpenCompass cannot be installed on 3.13.
    python_requires='>=3.10,<3.13',
    packages=find_packages(include=['gpassk_opencompass', 'gpassk_opencompass.*']),
    package_data={
        'gpassk_opencompass': ['py.typed', 'question_numbers/*.jsonl', 'schemas/*.json'],
        'gpassk_opencompass.report': ['published.csv'],
        'gpassk_opencompass.report.page': ['files/*'],
        'gpassk_opencompass.demo': ['model/*', 'questions/*/*.jsonl'],
    },
    cmdclass={'build_py': WithTemplates},
    entry_points={
        'console_scripts': ['gpassk = gpassk_opencompass.cli:main'],
        'inspect_ai': ['gpassk_opencompass = gpassk_opencompass.inspect_ai'],
    },
    install_requires=[
        'aiohttp>=3.9',
        'filelock>=3.12',
        'loguru>=0.7',
        'mpmath>=1.3',
        'numpy>=1.23',
        'pandas>=1.5',
        'psutil>=5.9',
        'pyarrow>=14',
        'pydantic>=2.7',
        'rich>=13',
        'scipy>=1.10',
        'tabulate>=0.9',
        'tqdm>=4.60',
    ],
    extras_require={
        'opencompass': OPENCOMPASS,
        'lmdeploy': [*OPENCOMPASS, 'lmdeploy>=0.6'],
        'ray': ['ray>=2.10'],
        # 0.11.2 is the oldest whose fields are known, 0.14 the last that takes numpy 1 and transformers 4.
        # Without bounds a resolver downloads one release after the other, or goes back to 0.2.5.
        'vllm': [*OPENCOMPASS, 'vllm>=0.11.2,<0.15'],
        'lighteval': LIGHTEVAL,
        'report': ['matplotlib>=3.6'],
        'dev': [
            'pytest>=8,<9.2',  # pytest-xdist 3.8 groups no tests with 9.2: fixtures of minutes are made twice
            'pytest-cov',
            'pytest-xdist',
            'ray>=2.10',
            'hypothesis',
            'jsonschema',
            'math-verify>=0.5.2',  # what OpenCompass's own evaluators need, which tests compare with
            'mkdocs-material',
            'mypy',
            'ruff',
            'selenium',
            'types-tabulate',
        ],
    },
    classifiers=[
        'Development Status :: 4 - Beta',
        'Environment :: Console',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3 :: Only',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
        'Typing :: Typed',
    ],
)
