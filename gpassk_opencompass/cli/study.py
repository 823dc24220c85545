"""`gpassk study`: what finished runs say beyond their scores."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module

STUDIES = {
    'coe': (
        'study_coe',
        'Chain-of-Embedding of stored responses: correct against incorrect, at equal length',
    ),
    'contamination': ('study_contamination', 'greedy accuracy against mG-Pass@k over rounds of training'),
}
"""Study → (module of this package, one line of help); a module offers what one of a subcommand does."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the studies."""
    studies = parser.add_subparsers(metavar='study', required=True)
    for name, (module, line) in STUDIES.items():
        study = studies.add_parser(name, help=line, description=f'{line[0].upper()}{line[1:]}.')
        import_module(f'.{module}', __package__).add_arguments(study)
        study.set_defaults(study=name, refuse=study.error)


def run(arguments: Namespace) -> int:
    """Do what was asked for and return the exit code."""
    code: int = import_module(f'.{STUDIES[arguments.study][0]}', __package__).run(arguments)
    return code
