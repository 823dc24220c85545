"""How stably does a model add? Eight epochs of four sums, with G-Pass@4 in the log and in `inspect view`.

inspect eval examples/inspect_ai/sums.py --model openai/gpt-4o-mini --temperature 1
"""

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import accuracy, match
from inspect_ai.solver import generate

from gpassk_opencompass.inspect_ai import g_pass_at_k

SUMS = ((17, 25), (30, 9), (8, 8), (70, 1))


@task
def sums() -> Task:
    """Each sum in two languages, which are one problem."""
    samples = [
        Sample(input=text.format(a, b), target=str(a + b), metadata={'problem': f'{a} + {b}'})
        for a, b in SUMS
        for text in ('What is {} + {}? End with the number.', '{} + {} 是多少？以数字结尾。')
    ]
    return Task(
        dataset=MemoryDataset(samples),
        solver=generate(),
        scorer=match(),
        metrics=[accuracy(), g_pass_at_k(k=4, cluster='problem')],
        epochs=Epochs(8),
    )
