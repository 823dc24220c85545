"""Whatever a model or a judge writes: an answer, a verdict, a normal form, never an exception or a hang."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from drawn import answers, any_text, names, replies, responses, spoiled_texts
from fuzzing import fuzz
from hypothesis import assume
from hypothesis import strategies as st
from judge_server import read_verdict

from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.completion import Reply, Trouble, reply_of, server_message
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.judges import Judgement, Pair, Verdict
from gpassk_opencompass.judges.llm import Candidate, settle
from gpassk_opencompass.judges.prompts import find_prompts, parse_verdict, squeezed
from gpassk_opencompass.sweep.names import DatasetName, model_and_settings

SIGN = re.compile(r'^(?:\S{0,30} ?(?:\\[a-z]+|[<>≤≥≠]=?) )?(?:-|\\[pm][pm] )?\(?')


@fuzz(responses | spoiled_texts(), share=3)
def test_a_response_has_a_final_answer(response):
    found = final_answer(response)
    assert found.text or not found.boxed
    assert found.text == found.text.strip()
    plain = response.replace('**', '')
    parts = [SIGN.sub('', part).strip().removesuffix(')') for part in found.text.split(', ')]
    assert all(part.strip() in plain or part.strip() in response for part in parts)


@fuzz(answers, answers, st.integers(10, 60) | st.just(20_000))
def test_what_a_judge_is_asked_can_be_sent(reference, answer, longest):
    settled = settle(Pair('?', reference, answer, 'en', answer), True, longest)
    assert isinstance(settled, (Judgement, Candidate))
    if isinstance(settled, Candidate):
        settled.pair.answer.encode()
        assert len(settled.pair.answer) <= longest + len(' […] ')


@fuzz(replies, share=3)
def test_a_reply_is_a_verdict_or_none(reply):
    verdict = read_verdict(reply)
    assert verdict in (Verdict.CORRECT, Verdict.INCORRECT, None)
    # A tag in quotation marks is talked about, and one at the end closes nothing.
    parts = re.split(r'(?<![`"\'])</think>|</think>(?![`"\'])', reply)
    told = next((part for part in reversed(parts) if part.strip()), '').casefold()
    words = {Verdict.CORRECT: ('yes', '是'), Verdict.INCORRECT: ('no', '否')}.get(verdict)
    assert words is None or (r'\boxed' in told and any(word in told for word in words))


@fuzz(replies, st.sampled_from([r'\boxed{yes}', r'\boxed{no}']))
def test_the_last_verdict_wins(before, last):
    expected = Verdict.CORRECT if 'yes' in last else Verdict.INCORRECT
    verdict = read_verdict(f'{before}\n{last}')
    assert verdict is expected or (verdict is None and '<think>' in before)


@fuzz(replies | responses, st.sampled_from(['en', 'cn']), st.integers(0, 500))
def test_a_prompt_sent_back_is_no_verdict(candidate, language, cut):
    asked = find_prompts('own').fill(Pair('What is 7 × 8?', '56', candidate, language))
    # What has hardly a word beside its box may say by chance what the prompt says.
    assume(len(squeezed(re.sub(r'\\boxed\{\w+\}', '', asked.prompt[cut:]))) >= 8)
    assert parse_verdict(Reply(asked.prompt[cut:], 'stop'), asked).verdict is None


@fuzz(st.binary(max_size=60) | replies.map(lambda text: text.encode('utf-8', 'surrogatepass')))
def test_a_server_may_send_anything(content):
    try:
        assert isinstance(reply_of(json.loads(content)), Reply)
    except (ValueError, RecursionError):
        pass  # no JSON, which `exchange` tells
    except Trouble as trouble:
        said = str(trouble)
        assert '\n' not in said and len(said) < 600  # noqa: PT018 - of the few words, not of a kind
    assert '\n' not in server_message(content)


@fuzz(names | any_text, share=5)
def test_a_name_is_read_as_it_is_written_or_refused(name):
    model, _ = model_and_settings(name)
    assert name.startswith(model)
    with suppress(InputError):
        assert str(DatasetName.parse(name)) == name
        assert '/' not in name
