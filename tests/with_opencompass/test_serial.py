"""Serial scaling: where links go, what they cost, and that more of them change nothing of what was before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from engine_fakes import facts_of, fake_vllm
from engine_requests import infer
from hosts import import_plugin
from judge_server import Act, Asked, JudgeServer, Say

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.results.health import Generation

plugin = import_plugin()
serial = import_plugin('.serial')
seeds = import_plugin('.handover')

pytestmark = [pytest.mark.filterwarnings('ignore')]

LINK = serial.LINK
THINKS = '<|user|>2 + 2?<|assistant|><think>\n'
PLAIN = '<|user|>2 + 2?<|assistant|>'
Said = tuple[str, Generation]


def scripted(*rounds: Sequence[Said]) -> tuple[Any, list[Any]]:
    """An engine that says these things, and what it was asked."""
    asked: list[Any] = []

    def draw(pieces: Sequence[Any], stops: Sequence[str]) -> Sequence[Said]:
        asked.append((list(pieces), tuple(stops)))
        return rounds[len(asked) - 1]

    return draw, asked


def said(text: str, tokens: int | None, finish: str = 'stop', **more: Any) -> Said:
    return text, Generation(finish, 9, tokens, **more)


def drawn(draw: Any, links: int, prompt: str = PLAIN, limit: int = 100) -> Said:
    [answer] = serial.BreakLinks(links, 'Wait').responses([prompt], lambda place, turn: turn, limit, draw)
    return answer


def test_a_link_stands_in_the_thought_of_a_model_that_thinks() -> None:
    """Its first round stops at the end of the thought; the last one goes on to the answer."""
    draw, asked = scripted([said('It is 5.\n', 10)], [said(' No, 4.\n</think>\n4', 12)])
    text, told = drawn(draw, 1, THINKS)
    assert text == 'It is 5.\n\nWait No, 4.\n</think>\n4'
    assert told == Generation('stop', 9, 22, links=1)
    [(first, stops), (second, none)] = asked
    assert '</think>' in stops
    assert none == ()
    assert first == [serial.Piece(THINKS, 0, 100)]
    assert second == [serial.Piece(f'{THINKS}It is 5.\n\nWait', 1, 90)]


def test_every_stop_word_ends_a_thought() -> None:
    """By the reader that takes thoughts out of responses."""
    part = import_module('gpassk_opencompass.answers.thoughts').part
    for mark in serial.END_MARKS:
        assert part(f'2 + 2{mark}4') == part('2 + 2</think>4')


def test_a_link_stands_behind_the_answer_of_a_model_that_does_not_think() -> None:
    """The later answer then counts, and the earlier one where nothing more comes."""
    read = import_module('gpassk_opencompass.responses').read_response
    draw, _ = scripted([said(r'\boxed{5}', 4)], [said(r', it is \boxed{4}.', 5)])
    text, told = drawn(draw, 1)
    assert text == '\\boxed{5}\n\nWait, it is \\boxed{4}.'
    assert read(text, told).answer.text == '4'
    draw, _ = scripted([said(r'\boxed{5}', 4)], [said('', 1)])
    text, told = drawn(draw, 1)
    assert read(text, told).answer.text == '5'


def test_without_links_a_response_is_one_round() -> None:
    """m = 0: nothing stops it but its end."""
    draw, asked = scripted([said('4', 2)])
    assert drawn(draw, 0) == ('4', Generation('stop', 9, 2, links=0))
    assert asked == [([serial.Piece(PLAIN, 0, 100)], ())]


def test_a_response_that_the_limit_cut_gets_no_link() -> None:
    """Neither in its first round nor in a later one."""
    draw, asked = scripted([said('It is', 100, 'length')])
    assert drawn(draw, 2) == ('It is', Generation('length', 9, 100, links=0))
    draw, asked = scripted([said('It is 5', 60)], [said(', no', 40, 'length')])
    assert drawn(draw, 2) == ('It is 5\n\nWait, no', Generation('length', 9, 100, links=1))
    assert [pieces[0].room for pieces, _ in asked] == [100, 40]


def test_an_answer_that_ends_with_the_last_token_is_whole_and_a_thought_is_not() -> None:
    """No token is left for a link; who only thought has said nothing yet."""
    assert drawn(scripted([said('It is 5', 100)])[0], 1) == ('It is 5', Generation('stop', 9, 100, links=0))
    text, told = drawn(scripted([said('It is 5', 100)])[0], 1, THINKS)
    assert (text, told) == ('<think>It is 5', Generation('length', 9, 100, links=0))


def test_where_the_context_is_full_the_link_is_taken_back() -> None:
    """The engine refuses the longer prompt: an answer that stood there is whole, a thought was cut."""
    full = ('', Generation(prompt_tokens=99, state='too long'))
    draw, _ = scripted([said('It is 5', 60)], [full])
    assert drawn(draw, 1) == ('It is 5', Generation('stop', 9, 60, links=0))
    draw, _ = scripted([said('It is 5', 60)], [full])
    assert drawn(draw, 1, THINKS) == ('<think>It is 5', Generation('length', 9, 60, links=0))


def test_an_empty_thought_gets_a_link_and_an_empty_response_none() -> None:
    """The answer of a model that ends its thought at once is still to come."""
    draw, _ = scripted([said('\n\n', 2)], [said(' 4.</think>\n4', 5)])
    text, told = drawn(draw, 1, THINKS)
    assert (text, told) == ('\n\nWait 4.</think>\n4', Generation('stop', 9, 7, links=1))
    assert drawn(scripted([said('\n\n', 2)])[0], 1)[1] == Generation('stop', 9, 2, state='empty', links=0)


def test_a_prompt_that_never_fitted_is_too_long() -> None:
    """There is nothing to go on from."""
    text, told = drawn(scripted([('', Generation(prompt_tokens=99, state='too long'))])[0], 2)
    assert (text, told.state, told.prompt_tokens) == ('', 'too long', 99)


@pytest.mark.parametrize('state', ['failed', 'aborted', 'filtered', 'refused'])
def test_a_response_lost_in_any_round_is_lost(state: str) -> None:
    """A half of it would be judged for a whole."""
    draw, _ = scripted([said('It is 5', 60)], [('', Generation(state=state))])
    text, told = drawn(draw, 2)
    assert (text, told.state) == ('', state)


def test_an_empty_response_is_left_as_it_is() -> None:
    """Behind nothing there is nothing to look at again."""
    text, told = drawn(scripted([said('', 1)])[0], 2)
    assert (text, told.state, told.links) == ('', 'empty', 0)


def test_an_engine_that_counts_no_tokens_is_refused() -> None:
    """Nobody would know when the limit is reached."""
    with pytest.raises(InputError, match='does not tell how many tokens'):
        drawn(scripted([said('4', None)])[0], 1)


def test_each_response_of_a_batch_goes_its_own_way() -> None:
    """One is cut at once, one goes on, one is lost; seeds and places stay with their prompts."""
    first = [said('a', 100, 'length'), said('b', 3), ('', Generation(state='failed')), said('c', 4)]
    draw, asked = scripted(first, [said('B', 3), said('C', 3)])
    answers = serial.BreakLinks(1, 'Wait').responses(
        ['p', 'q', 'r', 's'], lambda place, turn: 10 * place + turn, 100, draw
    )
    assert [text for text, _ in answers] == ['a', 'b\n\nWaitB', '', 'c\n\nWaitC']
    assert [(piece.seed, piece.room) for piece in asked[1][0]] == [(11, 97), (31, 96)]


@pytest.mark.parametrize(
    ('count', 'text', 'message'),
    [
        (-1, None, 'expected a whole number from 0'),
        (True, None, 'expected a whole number from 0'),
        (1.0, None, 'expected a whole number from 0'),
        (1, ' ', 'expected words'),
        (1, 5, 'expected words'),
        (None, 'Wait', 'does nothing'),
    ],
)
def test_odd_settings_are_refused(count: Any, text: Any, message: str) -> None:
    """As they may stand in a config that no template wrote."""
    with pytest.raises(InputError, match=message):
        serial.break_links(count, text)


def test_each_round_of_a_sample_has_a_seed_of_its_own() -> None:
    """The first has that of a sample without links; all depend on run, question, replica and round."""
    sample = seeds.Sample('202412/AMC_en/0', 0)
    assert seeds.sample_seed(42, sample, turn=0) == seeds.sample_seed(42, sample) == 4375039624031918
    found = {
        seeds.sample_seed(run, seeds.Sample(f'q{question}', replica), turn=turn)
        for run in (1, 2)
        for question in range(20)
        for replica in range(20)
        for turn in range(5)
    }
    assert len(found) == 2 * 20 * 20 * 5


SAMPLES = [seeds.Sample('202412/AMC_en/0', replica) for replica in range(6)]
QUESTIONS = ['What is 17 + 5?', 'Compute $19+4$.'] * 3


@cache
def model(**settings: Any) -> Any:
    """The shipped model, loaded once for each context."""
    return plugin.SeededHuggingFace(
        MODEL,
        generation_kwargs={'do_sample': True, 'temperature': 1.0},
        model_kwargs={'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
        random_seed=42,
        **{'serial_links': 1, 'serial_link_text': '$', **settings},
    )


def draw_now(links: int | None, limit: int = 400, **settings: Any) -> list[Said]:
    """Responses of the shipped model to six samples in one batch."""
    one = model(**settings)
    one.links = None if links is None else serial.BreakLinks(links, '$')
    one.seeds.announce(SAMPLES)
    texts = one.generate(QUESTIONS, max_out_len=limit)
    return list(zip(texts, one.generations.take(6), strict=True))


transformers = cache(draw_now)


def test_more_links_change_nothing_of_what_was_before() -> None:
    """The response for m is the beginning of that for m + 1, and for m = 0 the one without links."""
    by_links = [transformers(links) for links in (0, 1, 2, 3)]
    assert [text for text, _ in by_links[0]] == [text for text, _ in transformers(None)]
    for fewer, more in pairwise(by_links):
        for (before, told_before), (after, told) in zip(fewer, more, strict=True):
            assert after.startswith(f'{before.rstrip()}\n\n$')
            assert told.links == told_before.links + 1
            assert told.output_tokens > told_before.output_tokens
    assert draw_now(3) == by_links[3]


def test_tokens_are_those_that_the_model_wrote() -> None:
    """By the tokenizer: of the text between the links, and one for each end of a round."""
    tokenizer = import_module('transformers').AutoTokenizer.from_pretrained(MODEL)
    for text, told in transformers(2):
        pieces = text.split('\n\n$')
        assert len(pieces) == 3
        counts = [len(tokenizer(piece, add_special_tokens=False)['input_ids']) for piece in pieces]
        # What is drawn may be spelled in more tokens than the tokenizer would take.
        assert sum(counts) + 3 <= told.output_tokens <= sum(map(len, pieces)) + 3


@pytest.mark.parametrize('limit', [20, 40, 60])
def test_the_limit_holds_for_all_rounds_together(limit: int) -> None:
    """Who has it left goes on; a response is the beginning of the one with a higher limit."""
    for (text, told), (whole, of_whole) in zip(transformers(3, limit), transformers(3), strict=True):
        assert told.output_tokens <= limit
        assert whole.startswith(text)
        assert told.finish_reason == ('stop' if told.output_tokens == of_whole.output_tokens else 'length')
        assert told.output_tokens in (limit, of_whole.output_tokens)


def test_a_full_context_ends_a_response_of_several_rounds() -> None:
    """A round whose prompt does not fit is not drawn; no sample is lost by it."""
    fewer = [transformers(links) for links in range(4)]
    for place, (text, told) in enumerate(transformers(3, max_seq_len=50)):
        assert told.state is None
        ends = {one[place][0]: one[place][1].finish_reason for one in fewer}
        assert told.finish_reason == ends.get(text, 'length')  # where a link did not fit, it ends before it
        assert fewer[3][place][0].startswith(text)
    assert any(told.links < 3 for _, told in transformers(3, max_seq_len=50))


def marked(links: int, mark: str) -> list[Said]:
    """The same with `mark` for the end of a thought."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serial, 'END_MARKS', (mark,))
        return draw_now(links)


@pytest.mark.parametrize('mark', ['=', 'So the answer', '}'])
def test_a_round_stops_where_the_thought_ends(mark: str) -> None:
    """Before the first mark, also one of several tokens; the last round goes on behind it."""
    plain = [text for text, _ in transformers(0)]
    for (text, _), alone in zip(marked(1, mark), plain, strict=True):
        first = text.split('\n\n$', 1)[0]
        assert first == alone.split(mark)[0].rstrip()
        assert mark not in first
    assert any(mark in text.split('\n\n$', 1)[1] for text, _ in marked(1, mark))


def test_the_end_of_a_turn_in_the_prompt_ends_no_response() -> None:
    """OpenCompass looks for stop words in as many tokens as its longest has; marks of thoughts are long."""
    end: Callable[..., Any] = import_plugin('.models.huggingface')._EndsAt
    tokenizer = import_module('transformers').AutoTokenizer.from_pretrained(MODEL)
    torch = import_module('torch')
    prompt = tokenizer('2</think>', add_special_tokens=False)['input_ids']
    ends = end(['</think>'], tokenizer, len(prompt))
    for text, ended in (('3', False), ('3</think', False), ('3</think>', True), ('3</think>4', True)):
        ids = prompt + tokenizer(text, add_special_tokens=False)['input_ids']
        assert ends(torch.tensor([ids]), None).tolist() == [ended]


def test_links_need_prompts_that_a_response_can_go_on_in() -> None:
    """What takes the middle out of a prompt would take out a part of the response."""
    with pytest.raises(InputError, match='prompts that are whole'):
        model(mode='mid', max_seq_len=64)


class Requests:
    """A server of texts that says `said` in each round, and keeps what it was sent."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, asked: Asked) -> Act:
        self.bodies.append(asked.body)
        text = self._texts[len(self.bodies) - 1]
        return Say(text, more={'usage': {'prompt_tokens': len(asked.prompt), 'completion_tokens': 5}})


def completions(url: str, **settings: Any) -> Any:
    return plugin.SeededCompletions(
        'm',
        openai_api_base=f'{url}/v1',
        key='EMPTY',
        **{'tokenizer_path': MODEL, 'max_workers': 1, **settings},
    )


def answered(behave: Callable[[Asked], Act], limit: int = 40, **settings: Any) -> tuple[str, Generation]:
    """The response to one sample."""
    with JudgeServer(behave) as server:
        one = completions(server.url, **{'random_seed': 42, 'temperature': 0.5, **settings})
        if one.seeds is not None:
            one.seeds.announce(SAMPLES[:1])
        [text] = one.generate(QUESTIONS[:1], limit)
    [told] = one.generations.take(1)
    return text, told


def test_a_server_of_texts_goes_on_behind_the_end() -> None:
    """Each request has the prompt with its template and all that was said, in tokens, and its own seed."""
    tokenizer = import_module('transformers').AutoTokenizer.from_pretrained(MODEL)
    requests = Requests('It is 5.', ', no.', ' It is 22.')
    text, told = answered(requests, serial_links=2, serial_link_text='Wait')
    assert text == 'It is 5.\n\nWait, no.\n\nWait It is 22.'
    first, second, third = requests.bodies
    chat = [{'role': 'user', 'content': QUESTIONS[0]}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    said_before = ('', 'It is 5.\n\nWait', 'It is 5.\n\nWait, no.\n\nWait')
    for body, before in zip((first, second, third), said_before, strict=True):
        assert body['prompt'] == tokenizer(prompt + before, add_special_tokens=False)['input_ids']
    assert [body['max_tokens'] for body in requests.bodies] == [40, 35, 30]
    assert [body['seed'] for body in requests.bodies] == [
        seeds.sample_seed(42, SAMPLES[0], 31, turn) for turn in range(3)
    ]
    assert [body.get('stop') for body in requests.bodies] == [list(serial.END_MARKS[:4])] * 2 + [None]
    assert all(body['temperature'] == 0.5 for body in requests.bodies)
    assert not any({'messages', 'n'} & set(body) for body in requests.bodies)
    assert told._replace(seconds=None) == Generation('stop', len(first['prompt']), 15, links=2)


def test_a_server_of_texts_is_asked_once_without_links() -> None:
    """As any other engine; stop words of the template stay."""
    requests = Requests('It is 22.')
    text, told = answered(requests, extra_body={'stop': '###', 'top_k': 5})
    [body] = requests.bodies
    assert (text, told.links, told.output_tokens) == ('It is 22.', None, 5)
    assert (body['stop'], body['top_k']) == (['###'], 5)


def test_stop_words_of_the_template_stand_beside_the_marks() -> None:
    """In all rounds but the last, which has them alone."""
    requests = Requests('5', '22')
    answered(requests, serial_links=1, extra_body={'stop': ['###']})
    assert [body['stop'] for body in requests.bodies] == [['###', *serial.END_MARKS[:3]], ['###']]


def test_the_mark_that_the_model_has_comes_first(tmp_path: Path) -> None:
    """A server takes four stop words; without one for the end of a thought no round would end there."""
    tokenizer = import_module('transformers').AutoTokenizer.from_pretrained(MODEL)
    tokenizer.chat_template += '{# ends with </reasoning> #}'
    tokenizer.save_pretrained(tmp_path)
    requests = Requests('It is 5.', ', no.')
    answered(requests, serial_links=1, tokenizer_path=str(tmp_path))
    assert requests.bodies[0]['stop'] == ['</reasoning>', *serial.END_MARKS[:3]]
    with pytest.raises(InputError, match='has 4 stop words; a server takes 4'):
        answered(Requests(), serial_links=1, extra_body={'stop': [*'abcd']})


def test_the_room_is_what_the_context_leaves() -> None:
    """Of the response in any round; where none is left for a link the response ends before it."""
    requests = Requests('It is 5.', 'No.')
    text, told = answered(requests, serial_links=1, max_seq_len=60)
    for body in requests.bodies:
        assert len(body['prompt']) + body['max_tokens'] <= 60
    length = len(requests.bodies[0]['prompt'])
    requests = Requests('It is 5.')
    text, told = answered(requests, serial_links=1, max_seq_len=length + 1)
    assert (text, told.finish_reason, told.links) == ('It is 5.', 'stop', 0)
    _, told = answered(Requests(), max_seq_len=length)
    assert told.state == 'too long'


def test_a_tokenizer_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    """Nobody could make prompts with it; and one that is not there is not looked for elsewhere."""
    tokenizer = import_module('transformers').AutoTokenizer.from_pretrained(MODEL)
    tokenizer.chat_template = None
    tokenizer.save_pretrained(tmp_path / 'bare')
    with pytest.raises(InputError, match='has no chat template'):
        completions('http://127.0.0.1:9', tokenizer_path=str(tmp_path / 'bare'))
    with pytest.raises(InputError, match='cannot be loaded'):
        completions('http://127.0.0.1:9', tokenizer_path=str(tmp_path / 'none'))


def test_a_server_that_takes_no_seed_gets_none() -> None:
    """In no round."""
    requests = Requests('5', '22')
    answered(requests, serial_links=1, random_seed=None)
    assert not any('seed' in body for body in requests.bodies)


def test_vllm_in_this_process_gets_a_seed_and_a_room_a_round() -> None:
    """A stand-in with the fields of vLLM's own classes says 'seed N' and how it ended."""
    sent: list[tuple[str, int, dict[str, Any]]] = []
    with pytest.MonkeyPatch.context() as patch, fake_vllm(patch, lambda *one: sent.append(one)):
        one = plugin.SeededVLLM(
            MODEL,
            model_kwargs={'max_model_len': 2048},
            generation_kwargs={'temperature': 1.0},
            random_seed=42,
            serial_links=1,
            serial_link_text='Wait',
        )
        one.seeds.announce(SAMPLES)
        texts = one.generate(QUESTIONS, 1000)
        told = one.generations.take(6)
    own = [seeds.sample_seed(42, sample) for sample in SAMPLES]
    assert [seed for _, seed, _ in sent[:6]] == own
    later = iter(sent[6:])
    for text, after, sample, seed, (prompt, _, _) in zip(texts, told, SAMPLES, own, sent, strict=False):
        facts = facts_of(seed)
        if facts['finish_reason'] == 'length':
            assert (text, after.links, after.output_tokens) == (f'seed {seed}', 0, facts['output_tokens'])
            continue
        asked, second, settings = next(later)
        assert second == seeds.sample_seed(42, sample, turn=1)
        assert asked == f'{prompt}seed {seed}\n\nWait'
        assert settings['max_tokens'] == 1000 - facts['output_tokens']
        assert text == f'seed {seed}\n\nWaitseed {second}'
        tokens = facts['output_tokens'] + facts_of(second)['output_tokens']
        assert (after.links, after.output_tokens, after.prompt_tokens) == (1, tokens, facts['prompt_tokens'])
    assert next(later, None) is None


def test_a_run_with_links_is_resumed_as_it_would_have_been(tmp_path: Path) -> None:
    """From the template on; each row tells how many links its response has and all of its tokens."""
    lines: dict[str, Any] = {'serial_links': [1], 'max_out_lens': [80]}
    whole = infer('huggingface', tmp_path / 'a', **lines)
    resumed = infer('huggingface', tmp_path / 'b', killed=True, **lines)
    assert whole.predictions == resumed.predictions
    told = [row['generation'] for row in whole.rows]
    assert told == [row['generation'] for row in resumed.rows]
    assert [one['links'] for one in told] == [text.count(LINK) for text in whole.predictions]
    assert {one['links'] for one in told} >= {1}
    assert all(one['output_tokens'] <= 80 for one in told)
    [folder] = (tmp_path / 'a' / 'work' / 'predictions').iterdir()
    assert '_sl1_' in folder.name
