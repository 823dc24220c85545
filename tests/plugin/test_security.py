"""Keys stand in no file, and nothing that data calls itself leads out of the folder that is written to."""

from __future__ import annotations

import json
import os
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import old_work_dir as old
import pytest
from hosts import import_plugin, write_bench
from judge_server import PROMPTS, Act, Asked, Fail, JudgeServer, pairs_of
from marked_keys import JUDGE_KEY, MODEL_KEY, told, with_a_key
from result_files import THIRDS, block
from sweeping import dump

from gpassk_opencompass import GPassKError, InputError, Pair
from gpassk_opencompass.cli import main
from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.judges.llm import LLMJudge
from gpassk_opencompass.sweep.names import ModelName, Settings, clean

pytestmark = pytest.mark.slow


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob('*') if path.is_file()]


class Echoing:
    """A server of a model and of a judge that quotes the key that it was given, in every encoding.

    First in errors of all sorts, which stop a run of the judge; then in each of its replies, where those
    of the model quote it as it stands.
    """

    def __init__(self) -> None:
        self.seen: dict[str, set[str]] = {'m': set(), 'judge': set()}
        self.requests = dict.fromkeys(self.seen, 0)

    def __call__(self, asked: Asked) -> Act:
        name, key = asked.body['model'], asked.headers['Authorization'].removeprefix('Bearer ')
        self.seen[name].add(key)
        self.requests[name] += 1
        said = f'Incorrect API key provided: {key}. {told(key)}'
        once = {'Location': f'/x?{quote(key)}', 'X-Key': quote(key), 'WWW-Authenticate': f'Bearer {key}'}
        acts: list[Act] = [
            Fail(500, {'error': said}),
            Fail(500, f'{{"error": "{said}'.encode()),
            Fail(200, f'{{"choices": "{said}'.encode()),
            Fail(200, {'choices': [], 'error': said}),
            *([said] if name == 'judge' else []),
            Fail(429, {'error': {'message': said}}, headers={'Retry-After': '0', **once}),
            Fail(302 if name == 'm' else 401, {'error': {'message': said}}, headers=once),
        ]
        if self.requests[name] <= len(acts):
            return acts[self.requests[name] - 1]
        if name == 'm':  # of an answer nothing but the key as it stands is changed
            return rf'Incorrect API key provided: {key}. Hence \boxed{{{asked.body["seed"]}}}'
        return rf'{said} Hence \boxed{{yes}}'


def template(url: str, data: Path) -> str:
    return '\n'.join(
        [
            "engine, llm_infos, key_env = 'openai', [dict(path='m', batch_size=1)], 'MARKED_MODEL_KEY'",
            f"openai_api_base, tokenizer_path = '{url}/v1', {MODEL!r}",
            'query_per_second, retry, timeout = 1000, 9, 60',
            'temperatures, max_out_lens, greedy = [1.0], [40], False',
            'random_seeds = [42]',
            'k_lists, n = [[2]], 2',
            f"dataset_path, version = {str(data)!r}, 'mine'",
            "dataset_splits, dataset_languages = ['AMC'], ['en']",
            f"judge = dict(type='llm', model='judge', urls=['{url}'], api_key_env='MARKED_JUDGE_KEY')",
            'judge.update(concurrency=1)',
        ]
    )


@pytest.mark.e2e
def test_a_key_is_in_no_file_of_a_sweep(forks, tmp_path):
    """Expansion, three runs (servers that quote keys in all ways stop two), check, ping and report."""
    import_plugin()
    keys = {'MARKED_MODEL_KEY': f'{MODEL_KEY} ', 'MARKED_JUDGE_KEY': f' {JUDGE_KEY}\r\n'}
    variables = {**keys, 'GPASSK_VERDICTS': ''}

    def gpassk(*arguments: str) -> int:
        return forks.start('gpassk', *arguments, folder=tmp_path, variables=variables).wait()

    data = write_bench(
        tmp_path / 'data', {'AMC_en': [('What is 3+4?', '$7$'), ('What is 4+4?', '$8$')]}, 'mine'
    )
    with JudgeServer(echoing := Echoing(), models=['m', 'judge']) as server:
        assert dump(tmp_path, template(server.url, data)) == 0
        for _ in range(2):  # the model's redirection, the judge's refusal
            assert gpassk('run', 'configs', '-w', 'out') == 1
        assert not list((tmp_path / 'out').rglob('results/*/*.json'))
        assert gpassk('run', 'configs', '-w', 'out') == 0, (tmp_path / 'said').read_text()[-3000:]
        gpassk('check', 'out', '--configs', 'configs')
        judge = {'type': 'llm', 'model': 'judge', 'urls': [server.url], 'api_key_env': 'MARKED_JUDGE_KEY'}
        assert gpassk('judge', 'ping', '--judge', json.dumps(judge)) in (0, 1)
    assert gpassk('report', 'out', '-o', 'report', '--only', 'page') == 0
    assert gpassk('report', 'out', '-o', 'report', '--only', 'tables') == 0
    assert echoing.seen == {'m': {MODEL_KEY}, 'judge': {JUDGE_KEY}}
    # That of a task is written anew by the next run.
    assert b'Incorrect API key provided: ***' in (tmp_path / 'said').read_bytes()
    kept = b''.join(path.read_bytes() for path in (tmp_path / 'out').rglob('predictions/*/*.json'))
    assert b'Incorrect API key provided: ***' in kept
    assert len(files_below(tmp_path)) > 20
    assert with_a_key(tmp_path) == []


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('status', [400, 401])
@pytest.mark.parametrize('name', ['SeededOpenAISDK', 'SeededTurboMindAPI'])
def test_a_model_fails_without_the_key_that_its_server_quotes(monkeypatch, caplog, name, status):
    """The error goes to the log of the task, with all that it is chained to."""
    plugin = import_plugin()
    monkeypatch.setenv('MARKED', MODEL_KEY)
    with JudgeServer(lambda asked: Fail(status, {'error': {'message': f'bad key {MODEL_KEY}'}})) as server:
        more = {'openai_api_base': f'{server.url}/v1', 'tokenizer_path': MODEL, 'query_per_second': 1000}
        where = [] if name == 'SeededOpenAISDK' else [server.url]
        model = getattr(plugin, name)('m', *where, key_env='MARKED', retry=1, **({} if where else more))
        with pytest.raises(InputError, match=rf'HTTP {status}: bad key \*\*\*') as caught:
            model.generate(['?'], max_out_len=4)
    assert server.asked[0].headers['Authorization'] == f'Bearer {MODEL_KEY}'
    error = caught.value
    assert 'marked' not in f'{caplog.text} {error!r} {error.__cause__!r} {error.__context__!r}'


@pytest.mark.filterwarnings('ignore')
def test_an_evaluator_that_cannot_be_built_is_shown_without_its_keys():
    """Evaluators of OpenCompass take keys in their configs, at any depth."""
    evaluator = import_plugin('.evaluator')
    judge = {'openai_api_key': JUDGE_KEY, 'path': 'm'}
    with pytest.raises(InputError, match='cannot be built') as caught:
        evaluator.WrappedEvaluator({'type': 'AccEvaluator', 'judge_cfg': judge, 'key': MODEL_KEY})
    assert 'marked' not in str(caught.value)


@pytest.mark.parametrize('status', [301, 302, 307, 308])
def test_a_key_is_not_sent_on_to_where_a_server_points(monkeypatch, capfd, status):
    """By no judge and no ping: that server was given the key, the other one was not."""
    monkeypatch.setenv('MARKED', JUDGE_KEY)
    with JudgeServer(lambda asked: r'\boxed{yes}') as other:
        there = {'Location': f'{other.url}/v1/chat/completions'}
        with JudgeServer(lambda asked: Fail(status, headers=there), fit=False) as server:
            config = {'model': 'judge', 'urls': [server.url], 'prompts': PROMPTS, 'api_key_env': 'MARKED'}
            with pytest.raises(GPassKError), closing(LLMJudge(**config, progress=False)) as judge:
                judge.judge(pairs_of(0, 1))
            assert main(['judge', 'ping', '--judge', json.dumps({'type': 'llm', **config})]) == 1
            assert {asked.headers['Authorization'] for asked in server.asked} == {f'Bearer {JUDGE_KEY}'}
        assert other.asked == []
    assert 'marked' not in ''.join(capfd.readouterr())


@pytest.mark.parametrize('answers', [True, False])
def test_a_key_is_in_no_file_of_a_command_that_judges(tmp_path, monkeypatch, capfd, answers):
    """Not that of a judge whose replies or errors quote it, nor one in the configs of an old run."""
    monkeypatch.setenv('MARKED_JUDGE_KEY', JUDGE_KEY)
    (here := tmp_path / 'here').mkdir()
    monkeypatch.chdir(here)
    data = old.dataset()
    data['eval_cfg']['evaluator']['key'] = JUDGE_KEY
    work = old.write(tmp_path / 'old', old.rows(), data, {'key': MODEL_KEY, 'headers': [MODEL_KEY]})

    def behave(asked: Asked) -> Act:
        said = f'Your key {asked.headers["Authorization"]} expires soon.'
        return rf'{said} \boxed{{yes}}' if answers else Fail(401, {'error': said})

    pairs = [
        {'question': f'{n} + 1?', 'reference': str(n + 1), 'answer': f'n{n}', 'label': n % 2}
        for n in range(12)
    ]
    Path('pairs.jsonl').write_text(''.join(json.dumps(pair) + '\n' for pair in pairs))
    samples = {'question': '1 + 1?', 'answer': '2', 'responses': ['\\boxed{two}', '\\boxed{II}']}
    Path('samples.jsonl').write_text(json.dumps(samples))
    commands = [
        ['score', str(work), '-o', 'old'],
        ['judge', 'agreement', 'pairs.jsonl', '--disagreements', 'differ.jsonl'],
        ['score', 'samples.jsonl', '-o', 'samples.gpassk.json'],
    ]
    with JudgeServer(behave) as server:
        judge = {'type': 'llm', 'model': 'judge', 'urls': [server.url], 'prompts': 'own'}
        config = json.dumps({**judge, 'api_key_env': 'MARKED_JUDGE_KEY', 'concurrency': 1})
        codes = [main([*command, '--judge', config]) for command in commands]
        assert {asked.headers['Authorization'] for asked in server.asked} == {f'Bearer {JUDGE_KEY}'}
    said = ''.join(capfd.readouterr())
    assert 'marked' not in said
    assert with_a_key(here) == []
    if answers:
        assert codes == [0, 0, 0]
        [store] = (here / 'pairs.verdicts').glob('*.jsonl')
        assert 'Your key Bearer *** expires' in store.read_text()
    else:
        assert 0 not in codes
        assert 'Your key Bearer *** expires' in said


def test_a_key_is_hidden_before_a_message_is_cut(monkeypatch):
    monkeypatch.setenv('MARKED', JUDGE_KEY)
    with JudgeServer(lambda asked: Fail(401, {'error': f'{490 * "x"} {JUDGE_KEY}'}), fit=False) as server:
        judge = LLMJudge('judge', server.url, prompts='own', api_key_env='MARKED', progress=False)
        with pytest.raises(InputError, match=r'HTTP 401: x{490}') as caught:
            judge.judge([Pair('q', 'r', 'a')])
    assert 'sk' not in str(caught.value).replace('is', '')


@pytest.mark.parametrize('command', ['score', 'judge audit', 'judge agreement'])
def test_a_password_in_an_address_is_not_repeated(command, capsys):
    """Where the name of the model is missing, too."""
    assert main([*command.split(), 'nowhere', '--judge', 'llm', '--url', 'http://u:pw-hush@h']) == 2
    assert 'hush' not in capsys.readouterr().err


ESCAPES = [
    '../../x', '/etc/x', '..', 'C:\\x', '~/x', 'a/../../../x', '文' * 200, 'a\x00b', 'a\nb', '%2e%2e%2fx', '',
]  # fmt: skip


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob('*')}


@pytest.mark.parametrize('name', ESCAPES)
def test_a_report_stays_in_its_folder(tmp_path, name):
    """Whatever a result calls its model, its data set, its questions and its contests."""
    one = block(THIRDS, 4, groups=(f'{name}_cn', f'{name}_en'))
    one['counts']['uid'] = [f'{name}{number}' for number in range(24)]
    one['counts']['problem'] = [name] * 12 + ['p'] * 12
    one['run'] = {'model': name, 'dataset': name, 'host': name}
    (tmp_path / 'in').mkdir()
    (tmp_path / 'in' / 'r.gpassk.json').write_text(json.dumps({'gpassk': one}))
    out = tmp_path / 'a' / 'b' / 'report'
    before = tree(tmp_path)
    for part in ('tables', 'page'):
        assert main(['report', str(tmp_path / 'in'), '-o', str(out), '--only', part]) == 0
    new = tree(tmp_path) - before - {'a', 'a/b', 'a/b/report'}
    assert {path for path in new if not path.startswith('a/b/report/')} == set()
    assert all(path.isprintable() and len(os.fsencode(Path(path).name)) <= 255 for path in new)
    assert len(new) == 6  # the page, two tables, and two files of LaTeX in their folder


@pytest.mark.parametrize('name', ESCAPES)
def test_no_name_of_a_run_leads_elsewhere(tmp_path, name):
    """A model's name is refused or made one part of a path, and a template's configs lie in their folder."""
    safe = clean(name)
    assert not set(safe) & set('/\\:~\x00\n')
    assert not safe.startswith('.')
    with suppress(InputError):
        assert '/' not in str(ModelName(name, Settings(100, 0.5)))
    text = f"engine = 'huggingface'\nllm_infos = [dict(path='org/m', name={name!r})]\ntemperatures = [0.3]\n"
    before = {'template.py'}
    code = dump(
        tmp_path,
        text + f'max_out_lens = [100]\nk_lists = [[4]]\nreplications = 1\nversion = {name or "x"!r}\n',
    )
    assert code == 2
    code = dump(tmp_path, text + 'max_out_lens = [100]\nk_lists = [[4]]\nreplications = 1\n')
    assert code in (0, 2)
    assert {path for path in tree(tmp_path) - before if not path.startswith('configs')} == set()
