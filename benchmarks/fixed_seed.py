"""What one fixed seed for all requests does to G-Pass@k, on the shipped model.

    python -m benchmarks.fixed_seed
    python -m benchmarks.fixed_seed --engine vllm

Both ways draw n = 48 samples a question in one run, with the same model, settings and judge: each sample
from its own seed, and every request initialised with the same one, as the published templates have it
(`random_seed=42` in every GenerationConfig). About a minute on a CPU with transformers. With a real vLLM, in
the environment of `make test-engines`, attention heads are longer, which changes none of the logits.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .made import READER
from .padded_model import pad_model

N = 48
K = 16
BATCH = 256
MAX_OUT_LEN = 40

VLLM_ON_CPU = {
    'VLLM_CPU_KVCACHE_SPACE': '1',
    'VLLM_CPU_OMP_THREADS_BIND': 'nobind',
    'VLLM_ENABLE_V1_MULTIPROCESSING': '0',
    'OMP_NUM_THREADS': '1',
    'HF_HUB_OFFLINE': '1',
    'VLLM_NO_USAGE_STATS': '1',
    'VLLM_LOGGING_LEVEL': 'ERROR',
    'DO_NOT_TRACK': '1',
}
"""One GiB for keys and values, one thread, one process, nothing from the network."""


class Arm(NamedTuple):
    """One way of seeding: its responses (replica-major) and what they score."""

    name: str
    responses: list[str]
    scores: dict[str, Any]
    seconds: float


class FixedSeed:
    """Stands where a model keeps its seeds: all requests get this one."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def announce(self, samples: Sequence[Any]) -> None:
        """Whose they are changes nothing."""

    def take(self, count: int) -> list[int]:
        """The same seed for each."""
        return [self._seed] * count


def run(temperature: float, seed: int, engine: str = 'huggingface', repeats: int = 1) -> list[Arm]:
    """Both ways of seeding, the whole `repeats` times."""
    from gpassk_opencompass.demo import LANGUAGES, QUESTIONS, SPLITS, VERSION
    from gpassk_opencompass.plugin import LiveMathBenchDataset
    from gpassk_opencompass.plugin.handover import SeedsOfBatch

    rows = LiveMathBenchDataset(
        path=QUESTIONS,
        version=VERSION,
        dataset_splits=list(SPLITS),
        dataset_languages=list(LANGUAGES),
        k=K,
        n=N,
        reader_cfg=READER,
    ).test
    model = MODELS[engine](temperature)
    ways: dict[str, Callable[[], Any]] = {
        'a seed a sample': lambda: SeedsOfBatch(seed),
        f'random_seed={seed} for all': lambda: FixedSeed(seed),
    }
    return [_arm(name, model, make(), rows) for _ in range(repeats) for name, make in ways.items()]


def _huggingface(temperature: float) -> Any:
    from gpassk_opencompass.demo import MODEL
    from gpassk_opencompass.plugin import SeededHuggingFace

    return SeededHuggingFace(
        MODEL,
        model_kwargs={'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
        generation_kwargs={'do_sample': True, 'temperature': temperature},
        max_seq_len=4096,
    )


def _vllm(temperature: float) -> Any:
    from gpassk_opencompass.plugin import SeededVLLM

    os.environ |= VLLM_ON_CPU
    with tempfile.TemporaryDirectory() as folder:
        return SeededVLLM(
            str(pad_model(Path(folder, 'model'))),
            model_kwargs={'dtype': 'float32', 'enforce_eager': True, 'max_model_len': 512},
            generation_kwargs={'temperature': temperature},
            max_seq_len=512,
        )


MODELS: dict[str, Callable[[float], Any]] = {'huggingface': _huggingface, 'vllm': _vllm}


def _arm(name: str, model: Any, seeds: Any, rows: Any) -> Arm:
    from gpassk_opencompass.plugin import GPassKEvaluator
    from gpassk_opencompass.plugin.handover import Sample

    start = time.monotonic()
    model.seeds = seeds
    samples = [Sample(*pair) for pair in zip(rows['uid'], rows['replica'], strict=True)]
    prompts, responses = rows['prompt'], []
    for first in range(0, len(prompts), BATCH):
        seeds.announce(samples[first : first + BATCH])
        responses += model.generate(prompts[first : first + BATCH], max_out_len=MAX_OUT_LEN)
    seconds = time.monotonic() - start
    scores = GPassKEvaluator().evaluate([K], N, rows, predictions=responses, references=rows['answer'])
    return Arm(name, responses, scores, seconds)


def distinct(arm: Arm) -> float:
    """Different texts among the n responses to a question, on average."""
    questions = len(arm.responses) // N
    return sum(len(set(arm.responses[q::questions])) for q in range(questions)) / questions


def report(arms: Sequence[Arm]) -> str:
    """A Markdown table."""
    keys = ['accuracy', f'G-Pass@{K}_0.5', f'G-Pass@{K}_1.0', f'mG-Pass@{K}']
    head = ['requests', f'different responses of {N}', 'duplicates', *keys, 'seconds']
    lines = [head, ['---'] * len(head)]
    for arm in arms:
        different = distinct(arm)
        scores = [f'{arm.scores[key]:.2f}' for key in keys]
        share = f'{1 - different / N:.1%}'
        lines.append([arm.name, f'{different:.1f}', share, *scores, f'{arm.seconds:.0f}'])
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--temperature', type=float, default=1.0)
    parser.add_argument('--random_seed', type=int, default=42)
    parser.add_argument('--engine', choices=sorted(MODELS), default='huggingface')
    parser.add_argument('--repeats', type=int, default=1, help='the whole so many times, with one model')
    arguments = parser.parse_args()
    warnings.simplefilter('ignore')
    arms = run(arguments.temperature, arguments.random_seed, arguments.engine, arguments.repeats)
    print(report(arms))
    for arm in arms:
        for warning in arm.scores['gpassk']['replicas']['warnings']:
            print(f'{arm.name}: {warning}', file=sys.stderr)


if __name__ == '__main__':
    main()
