"""The expander: the greedy run, lines that a model has for itself, and combinations left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sweeping import BASE, NAME, configs_of, dump, expanded

from gpassk_opencompass.errors import TemplateError
from gpassk_opencompass.sweep.folder import Run
from gpassk_opencompass.sweep.names import RunName
from gpassk_opencompass.sweep.template import expand_variables


def test_a_greedy_run_is_turned_off_for_one_model(tmp_path: Path) -> None:
    """`greedy = False` of a model of llm_infos holds for that model alone."""
    text = BASE.replace('greedy = False', '') + "llm_infos = ['a', dict(path='b', greedy=False)]\n"
    models = [RunName.parse(name).model for name in expanded(tmp_path, text)]
    assert {model.model for model in models if model.settings.greedy} == {'a'}
    assert {model.model for model in models if not model.settings.greedy} == {'a', 'b'}


LINES: dict[str, Any] = {
    'temperatures': [0.0, 0.6],
    'top_ps': [0.9, 0.95],
    'top_ks': 20,
    'repetition_penalties': [1.1],
    'random_seeds': [7],
    'max_out_lens': [32768],
    'k_lists': [[8], [4, 16]],
    'replications': [1, 2],
    'n': 64,
    'greedy': True,
    'benchmarks': ['livemathbench', 'math500-l5'],
    'version': '202505',
}
TEMPLATE: dict[str, Any] = {
    'engine': 'huggingface',
    'llm_infos': ['org/Plain-7B', 'org/other-1b'],
    'temperatures': [0.3, 1.0],
    'top_ps': [0.8, 1.0],
    'top_ks': [0, 50],
    'max_out_lens': [100, 200],
    'k_lists': [[4, 8, 16], [4]],
    'replications': 3,
}


def without(names: set[str]) -> dict[str, Any]:
    """The template less some of its lines."""
    return {name: value for name, value in TEMPLATE.items() if name not in names}


@pytest.mark.slow
@given(st.sets(st.sampled_from(sorted(LINES))))
def test_a_models_own_lines_are_the_template_with_those_lines_changed(names: set[str]) -> None:
    """For that model; its neighbour has the template's. n takes the place of replications."""
    assume(not {'n', 'replications'} <= names)
    lines = {name: LINES[name] for name in names}
    own = {**without({'replications'} if 'n' in names else set()), **lines, 'llm_infos': ['own']}
    assert configs_of({**TEMPLATE, 'llm_infos': ['plain', {'path': 'own', **lines}]}) == {
        **configs_of({**TEMPLATE, 'llm_infos': ['plain']}),
        **configs_of(own),
    }


VALUES: dict[str, list[Any]] = {
    'model': ['org/Plain-7B', 'plain*', '*1B', 'nobody', ['plain*', 'other-1b']],
    'benchmark': ['livemathbench', 'LiveMathBench-v*', 'aime*'],
    'temperature': [0, 0.3, [0.3, 1.0]],
    'top_p': [0.8, 0.5],
    'top_k': [0, [0, 50]],
    'repetition_penalty': [1.0],
    'random_seed': [42, 1],
    'max_out_len': [100, 200],
    'k': [4, [16, 8, 4], [[4], [1]]],
    'n': [1, 12, [12, 48]],
}
NAMES = {
    'org/Plain-7B': {'org/Plain-7B', 'plain*', '*1B'},
    'org/other-1b': {'*1B', 'other-1b'},
}
"""Which patterns fit which model; '*1B' fits other-1b alone."""
NAMES['org/Plain-7B'].discard('*1B')

rules = st.lists(
    st.sets(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3).flatmap(
        lambda names: st.fixed_dictionaries({name: st.sampled_from(VALUES[name]) for name in names})
    ),
    max_size=3,
)


def holds(name: str, wanted: Any, run: Run) -> bool:
    """A condition of a rule, decided from tables and the run alone."""
    several = isinstance(wanted, list)
    if name == 'model':
        return bool(NAMES[run.path] & set(wanted if several else [wanted]))
    if name == 'benchmark':
        return wanted != 'aime*'
    if name == 'k':
        lists = wanted if several and isinstance(wanted[0], list) else [wanted if several else [wanted]]
        return sorted(run.k) in [sorted(ks) for ks in lists]
    value = run.n if name == 'n' else run.settings.get(name)
    return value in (wanted if several else [wanted])


@pytest.mark.slow
@given(rules)
def test_exclude_is_a_filter_of_the_full_product(exclude: list[dict[str, Any]]) -> None:
    """What is left is what no rule fits, in the same order and with the same configs."""
    left = [
        run
        for run in expand_variables(TEMPLATE).runs
        if not any(all(holds(name, wanted, run) for name, wanted in rule.items()) for rule in exclude)
    ]
    if left:
        assert expand_variables({**TEMPLATE, 'exclude': exclude}).runs == left
    else:
        with pytest.raises(TemplateError, match='every combination'):
            expand_variables({**TEMPLATE, 'exclude': exclude})


def test_a_combination_that_is_left_out_need_not_be_possible(tmp_path: Path) -> None:
    """An engine may refuse what `exclude` is there to leave out."""
    text = BASE.replace('huggingface', 'turbomind').replace('[0.3]', '[0.3, 2.5]')
    assert dump(tmp_path, text) == 2
    assert set(expanded(tmp_path, text + 'exclude = dict(temperature=2.5)\n')) == {NAME}


def test_a_rule_that_fits_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may be misspelt; the template still expands, with one line that says which."""
    text = BASE.replace('[0.3]', '[0.3, 1.0]')
    assert len(expanded(tmp_path, text + "exclude = [dict(temperature=1), dict(model='x*')]\n")) == 1
    line = 'exclude[1] fits no combination of the template, so it leaves nothing out\n'
    assert capsys.readouterr().err == line
