"""Mutants of answers: each says something else, and the rule judge tells it from the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpassk_opencompass import RuleJudge, Verdict
from gpassk_opencompass.judges import Pair

REFERENCES = [
    '4049', r'\frac{3}{4}', '-5', '0.39', r'2\sqrt{2}-2', '10^{2^n-n-1}', r'\{2,5\}',
    r'(-\infty,-1)\cup(6,+\infty)', r'\left[2, \frac{4}{3}\right)', '3, 5, 7', '(6,31,-1)',
    r'\begin{pmatrix} 1/5 \\ -18/5 \end{pmatrix}', r'\{x \mid -1 < x \le 2\}', '[[1, 2], [3, 4]]', '5 cm',
    '12个', r'115^\circ', r'y = 2x + 3', 'a > b > c', '充分不必要条件', '单调递增',
    'sufficient but not necessary condition', 'B', 'A, B, D', '4:30 p.m.', '3R^2', '1:2',
    r'2k\pi + \frac{\pi}{6}', r'\cot x', r'1 \pm \sqrt{19}', '三分之二', r'\$36', 'yes', '无解', r'7!', 'x=5',
    r'e^{-x}', r'\log_2 5', r'f(x) = x^2', r'x \in [0, 1)', '2 或 3', '28%', '60 km/h', r'\binom{10}{3}',
]  # fmt: skip

OTHERS = {
    r'\pi': r'\alpha ', r'\cot': r'\tan', r'\log': r'\sin', r'\pm': '+', r'\binom': r'\frac',
    r'\cup': r'\cap',
    'cm': 'm', 'km': 'm', '个': 'kg', r'\circ': r'{\text{ rad}}', r'\$': '€', '不必要': '必要', '无解': '有',
    '三': '五',
    '单调递增': '单调递减', 'sufficient': 'necessary', 'p.m': 'a.m', 'yes': 'no',
    '<': r'\le ', '>': r'\ge ', r'\le': '<', r'\ge': '>', '(': '[', '[': '(', ')': ']', ']': ')',
    '+': '-', '-': '+', '%': r'^\circ',
}  # fmt: skip
CHANGES = {
    r'\d(?!\d)': lambda digit: [str((int(digit) + 1) % 10), str((int(digit) + 8) % 10)],
    r'(?<=[\d}a-zA-Z)] )[-+](?= )|(?<=[\d}a-zA-Z])[-+](?=[\d\\a-zA-Z])': lambda sign: [OTHERS[sign]],
    r'(?:(?<=^)|(?<=[(\[{,=<]))-(?=\S)': lambda _: [''],
    r'(?:(?<=^)|(?<=[(\[,]))(?=\\frac|[1-9])': lambda _: ['-'],
    r'<|>|\\le(?!f)|\\ge': lambda sign: [OTHERS[sign], '= '],
    r'(?<![f{\\])[\[(](?=[^\[\]()]*,[^\[\](),]*[\])])': lambda bracket: [OTHERS[bracket]],
    r'(?<=\d)[\])](?=$)': lambda bracket: [OTHERS[bracket]],
    r'(?<![a-zA-Z\\])[a-zA-Z](?![a-zA-Z.])': lambda letter: [letter.swapcase(), 'w'],
    r'\\pi|\\sqrt|\\cot|\\log|\\pm|\\binom|\\cup|cm|km|个|\\circ|\\\$': lambda name: [OTHERS.get(name, '')],
    r'(?<=[\[({,]) ?[-\d]+, ?': lambda _: [''],
    r'^(?=[a-zA-Z一-鿿])': lambda _: ['not ', '不'],
    r'不必要|单调递增|sufficient|not |p\.m|yes|无解|三|!|%': lambda words: [OTHERS.get(words, '')],
}  # fmt: skip
"""What is changed in the text as written, and into what: it leaves no doubt that the answer is another."""


def mutants_of(answer: str) -> Iterator[str]:
    """An answer with one token changed."""
    if re.fullmatch('[A-H](?:, [A-H])*', answer):
        yield from (answer.replace(answer[-1], letter) for letter in 'CEFG')
        return
    for pattern, others in CHANGES.items():
        for match in re.finditer(pattern, answer):
            for other in others(match[0]):
                yield answer[: match.start()] + other + answer[match.end() :]


def verdicts_of(pairs: list[Pair]) -> list[tuple[Pair, Verdict]]:
    with RuleJudge() as judge:
        return [(pair, said.verdict) for pair, said in zip(pairs, judge.judge(pairs), strict=True)]


def test_the_rule_judge_tells_the_references_of_benchmarks_from_their_mutants() -> None:
    """Of each kind of reference: no answer with one token changed is accepted."""
    pairs = [Pair('?', reference, mutant) for reference in REFERENCES for mutant in mutants_of(reference)]
    assert len({*pairs}) > 250
    assert [pair for pair, verdict in verdicts_of(pairs) if verdict is not Verdict.INCORRECT] == []


def test_letters_are_told_apart_where_two_options_say_the_same() -> None:
    """By the options of the question."""
    question = 'Which is it? (A) $1/2$ (B) $0.5$ (C) $3$'
    others = {'A': ['B', 'C', '(B) 0.5'], 'C': ['A', 'B', '0.5', '4'], '3': ['A', 'B', '4', '-3']}
    pairs = [Pair(question, reference, answer) for reference, answers in others.items() for answer in answers]
    assert {verdict for _, verdict in verdicts_of(pairs)} == {Verdict.INCORRECT}
