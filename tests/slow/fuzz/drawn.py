r"""What the fuzz tests draw: texts as models write them, hostile texts, and damaged files."""

from __future__ import annotations

import json
from functools import cache

from hosts import SHARED
from hypothesis import strategies as st

LATEX = [
    r'\boxed{', r'\boxed ', r'\fbox{', r'\framebox{', r'\frac{', r'\frac12', r'\dfrac', r'\sqrt',
    r'\sqrt[3]{', r'\text{', r'\mathrm{', r'\operatorname{', r'\left', r'\right', r'\left(',
    r'\right)', r'\begin{pmatrix}', r'\end{pmatrix}', r'\{', r'\}', r'\\', r'\,', r'\!', r'\;',
    r'\ ', r'\(', r'\)', r'\[', r'\]', '$', '$$', '{', '}', '{,}', '^', '_', '^{2}', '^\\circ',
    r'\degree', r'\pi', r'\infty', r'\cup', r'\in', r'\le', r'\quad',
    r'\href{javascript:alert(1)}{', r'\style{', r'\class{', r'\unicode{', r'\newcommand', r'\def',
    r'\%', r'\&', '&', '~', '\\', r'\color{', r'\tag{',
]  # fmt: skip
WORDS = [
    'the answer is ', 'The final answer is: ', 'Answer:', 'answer to ', '**Answer**: ', '答案是',
    '答案：', '最终答案', '故选', 'should be', ' and ', ' or ', '和', '或', ', ', '、', '。', '.',
    ' because ', '"answer": "', '"', '**', '*', '`', '# ', '<think>', '</think>', '\n', '\n\n', ' ', '  ',
    '\t', '=', 'x=', '+', '-', '/', '(', ')', '[', ']', '|', '!', ':', ';',
]  # fmt: skip
NUMBERS = [
    '0', '1', '2', '12', '42', '1,234', '10{,}000', r'10\,000', '1, 234', '0.5', '.5', '1/2', '½',
    '²', '３', '1e9', '−1', '9' * 30,
]  # fmt: skip
JUDGES = [
    r'\boxed{yes}', r'\boxed{no}', r'\boxed{Yes.}', r'\boxed{\text{yes}}', r'\boxed{\text{ No }}',
    r'\boxed{**YES**}', r'\boxed{ $yes$ }', r'\boxed{是}', r'\boxed{否}', r'\boxed{yes/no}',
    r'\boxed{yes or no}', r'\boxed{}', r'\boxed {', r'\boxed{\mathrm{', r'\boxed{{', 'yes', 'no',
    'YES', 'ye\u017f', 'nO', '是', '否', '}', '.', '!', '*', "'", r'\textbf',
    'The answers are the same. ', '一致，所以 ', 'Let me think. ',
]  # fmt: skip
HOSTILE = [
    '</script>', '<script>alert(1)</script>', '<!--', '-->', ']]>', '<![CDATA[',
    '<img src=x onerror=alert(1)>', '<style>', '</style>', '</title>', '</textarea>', '"', "'",
    '"><b>', "' onload='", '&', '&lt;', '&#60;', '{{ 7*7 }}', '{% raw %}', '${7*7}',
    'javascript:alert(1)', '\u2028', '\u2029', '\x00', '\ud800', '\udfff', '\ud83d\ude00',
    '\x1b[2J', '\x1b]0;x\x07', '\u202e', '\ufeff', '\u200b', '\r', '\r\n',
    '=HYPERLINK("http://x")', '+1', '-1+1', '@SUM(A1)', '\t=1', '\uff1d1', "'=1", '|', '||',
    r'\|', '\\', '%', '#', '_', '^', '~', '$x$', '$', '\\input{x}', '../../x', '/etc/x', 'C:\\x',
    '..', '.', 'CON', 'x' * 300, '中文', '__proto__', 'constructor', 'null', 'NaN', '\\u003c',
]  # fmt: skip
NAMES = [
    'm', 'M-7B', 'Q2.5', '_t0.3', '_t0-3', '_t0', '_t1-0', '_p0-8', '_k50', '_rp1-0', '_rs42', '_l8192', '_l',
    '@', '.py', 'LiveMathBench-v202412', 'LiveMathBench-v', 'MATH500-L5', 'AIME2024', '-nocot',
    '-k4_8_16', '-k1', '-k', '-r3', '-n50', '-r', '-n', '-hard-cn_en', '-AMC_CCEE-en', '-', '_',
    '~', '~4d70064f', '0', '1', '9' * 25, '9' * 5000, '00', '1e5', 'a' * 97, 'é' * 49, '\n', '/',
    '..', '\x00', '²', '３', ' ',
]  # fmt: skip


def spliced(*fragments: list[str], most: int = 12) -> st.SearchStrategy[str]:
    """Fragments one after the other, some repeated, with any text between them now and then."""
    one = st.sampled_from([fragment for some in fragments for fragment in some])
    repeated = st.builds(lambda text, times: text * times, one, st.sampled_from([2, 3, 9, 40]))
    return st.lists(one | one | one | repeated | st.text(max_size=6), max_size=most).map(''.join)


answers = spliced(LATEX, NUMBERS, WORDS)
responses = spliced(LATEX, NUMBERS, WORDS, HOSTILE, most=30)
_SAID = [
    'yes', 'no', 'Yes', 'NO', 'ye\u017f', 'YE\u017f', 'ｙｅｓ', 'n\u00ba', '是', '否', 'yes/no',
    'yesno', 'no yes', '',
]  # fmt: skip
_DRESS = [
    '', ' ', '$', '**', '"', r'\text{', r'\mathrm{', r'\bf ', '.', '}', '!', '\u3000', '\n', "'", r'\;',
    '\\',
]  # fmt: skip
boxes = st.builds(
    '{}{}{}{}{}'.format,
    st.sampled_from([r'\boxed{', r'\boxed {', r'\\boxed{', r'\BOXED{', r'\fbox{', r'\boxed{{']),
    st.lists(st.sampled_from(_DRESS), max_size=3).map(''.join),
    st.sampled_from(_SAID),
    st.lists(st.sampled_from(_DRESS), max_size=3).map(''.join),
    st.sampled_from(['}', '}}', '', '} </think>']),
)
replies = st.lists(boxes | spliced(JUDGES, WORDS, HOSTILE, most=4), max_size=4).map(' '.join)
hostile = spliced(HOSTILE, LATEX, most=6)
names = spliced(NAMES)


@cache
def real_texts() -> list[str]:
    """Responses and answers of real models, where they lie beside the checkout; a few are made up."""
    found = [
        r'Thus $x = \boxed{\frac{1}{2}}$.',
        'The answer is 42.',
        '所以答案是 $4$。',
        r'\boxed{1} and \boxed{2}',
    ]
    for name, field in (('samples/math_cot_100_n8.jsonl', 'code'), ('answer_pairs/pairs.jsonl', 'pred')):
        path = SHARED / 'data' / name
        lines = path.read_text(encoding='utf-8').splitlines() if path.exists() else []
        for told in (json.loads(line)[field] for line in lines):
            found += told if isinstance(told, list) else [told]
    return found


@st.composite
def spoiled_texts(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(real_texts()))
    place, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    piece = draw(spliced(LATEX, WORDS, HOSTILE, most=3))
    return text[:place] + piece + draw(st.sampled_from([text[place:end], text[place:], text[end:], '']))


surrogates = st.text(st.characters(categories=['Cs']), max_size=3)
any_text = st.text(max_size=40) | hostile | surrogates

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.sampled_from([10**18, -(10**18), 10**4000, 1e308, -0.0])
    | st.floats()
    | any_text
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=8,
)


def nested(opening: str, closing: str) -> st.SearchStrategy[str]:
    """JSON that is nested up to and beyond what a reader can follow."""
    depths = st.integers(1, 1200) | st.integers(900, 1030)  # `fuzzing.usual_depth` is reached at 980 or so
    return depths.map(lambda depth: opening * depth + '1' + closing * depth)


deep = nested('[', ']') | nested('{"a":', '}')


@st.composite
def mutated(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file with a few damages: bytes flipped, cut out, put in, doubled or moved, or its end missing."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 9) | st.integers(0, max(1, len(data) // 2)))
        end = min(len(data), start + length)
        kind = draw(st.sampled_from(['flip', 'cut', 'put', 'double', 'move', 'end', 'deep']))
        if kind == 'flip' and start < len(data):
            data[start] ^= 1 << draw(st.integers(0, 7))
        elif kind == 'cut':
            del data[start:end]
        elif kind == 'put':
            data[start:start] = draw(
                st.binary(max_size=8) | hostile.map(lambda text: text.encode('utf-8', 'surrogatepass'))
            )
        elif kind == 'double':
            data[start:start] = data[start:end]
        elif kind == 'move':
            piece = data[start:end]
            del data[start:end]
            place = draw(st.integers(0, len(data)))
            data[place:place] = piece
        elif kind == 'deep':
            data[start:start] = draw(deep).encode()
        else:
            del data[start:]
    return bytes(data)
