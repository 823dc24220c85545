"""The layout of a result file (schema 2).

The JSON Schema of `schemas/result.schema.json` is made from these classes: `python -m
gpassk_opencompass.results.schema` prints it. Fields may be added without a new version, and readers ignore
what they do not know; `required` in the schema is what this release always writes, the classes ask for what a
reader cannot do without.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema

from ..arguments import LARGEST_N
from .record import SCHEMA

SCORE = r'^(.+/)?(accuracy|pass@[1-9][0-9]*|G-Pass@[1-9][0-9]*_[0-9][0-9.e-]*|mG-Pass@[1-9][0-9]*)$'
_MOMENT = r'^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$'
_SIGNATURE = (
    r'^G-Pass@k\|n:[1-9][0-9]*\|k:[0-9_]+\|tau:[0-9._e-]*\|judge:.*\|rules:[0-9a-f]{12}\|'
    r'questions:[1-9][0-9]*\|data:[0-9a-f]{12}\|version:.+$'
)

Whole = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(ge=1, le=LARGEST_N)]
Share = Annotated[float, Field(ge=0, le=1)]
Percent = Annotated[float, Field(ge=0, le=100)]
Texts = Annotated[list[str], Field(min_length=1)]
Names = Annotated[list[str], Field(min_length=1, json_schema_extra={'uniqueItems': True})]
Wholes = Annotated[list[Whole], Field(min_length=1)]
Tally = dict[str, Whole]
Letters = dict[Annotated[str, Field(pattern='^[A-Za-z]$')], str]
Moment = Annotated[str, Field(json_schema_extra={'pattern': _MOMENT})]


_WholesOfEach = Annotated[list[list[Whole | None]], Field(min_length=1)]


def _about(description: str, **more: Any) -> Any:
    """Return the field of an optional part: it may be missing, and is never null."""
    return Field(default=None, description=description, **more)


def _written(*always: str, **more: Any) -> ConfigDict:
    """Return the settings of a class; `always` are the fields that this release writes into every file."""
    return ConfigDict(
        strict=True, extra='allow', allow_inf_nan=False, json_schema_extra={'required': [*always], **more}
    )


_LETTERS: dict[str, Any] = {'min_length': 1, 'json_schema_extra': {'additionalProperties': False}}


class Completed(BaseModel):
    """The scores over the samples that were not cut off. They are of other questions than the scores of the
    result, and never stand in for them."""

    model_config = _written('samples', 'scores', 'questions')

    samples: Whole = _about('How many were not cut off.')
    scores: dict[str, Percent] = _about('Each metric over the questions with at least k such samples.')
    questions: Tally = _about('How many questions those are, for each metric.')


class Details(BaseModel):
    """Columns: one entry a question, in the order of gpassk.counts; in verdicts, judged_by and answers one a
    sample."""

    model_config = _written(
        *('question', 'reference'),
        dependentRequired={'judged_by': ['judges', 'verdicts'], 'judges': ['judged_by']},
    )

    question: Texts = _about('Texts; empty where only labels or counts are known.')
    reference: Texts = _about('The reference answers.')
    answers: Annotated[list[Texts], Field(min_length=1)] = _about(
        'The final answers of the n samples; an empty text where a response has none.'
    )
    verdicts: Annotated[list[Annotated[str, Field(pattern='^[01?]+$')]], Field(min_length=1)] = _about(
        'A character a sample: 1 correct, 0 incorrect, ? unjudged.'
    )
    judged_by: Annotated[list[Annotated[str, Field(pattern='^[A-Za-z]+$')]], Field(min_length=1)] = _about(
        'A letter a sample, explained by judges.'
    )
    judges: Letters = _about('Which check decided, or why none did.', **_LETTERS)
    completed: Completed = _about('The scores over completed samples; only where some were cut off.')


class ReadDetails(Details):
    """Details with the columns that Lighteval's rows have too."""

    finish_reason: Annotated[list[list[str | None]], Field(min_length=1)] = _about(
        'Why the engine ended each response.'
    )
    output_tokens: _WholesOfEach = _about('Generated tokens of the n samples.')
    prompt_tokens: _WholesOfEach = _about('Tokens of the prompts of the n samples.')
    response_characters: _WholesOfEach = _about('Lengths of the n responses.')
    reasoning_characters: _WholesOfEach = _about('Lengths of their thoughts.')
    reasoning_tokens: _WholesOfEach = _about('Tokens of the thoughts of the n samples.')
    state: Annotated[list[list[str | None]], Field(min_length=1)] = _about(
        'What kind of response each is, where it is no usual one.'
    )
    reply_key: Annotated[list[list[str | None]], Field(min_length=1)] = _about('Keys of a verdict store.')


class Data(BaseModel):
    """What was asked."""

    model_config = _written('questions', 'sha256')

    questions: Size
    sha256: Annotated[str, Field(pattern='^[0-9a-f]{64}$')] = Field(
        description='Of uids, questions and references: where it is the same, the same was asked.'
    )
    sources: list[str] = _about(
        "What the questions were read from: file and hash of its bytes, or the hub's name and commit."
    )


class Limited(BaseModel):
    """What made a run smaller than the sweep that it belongs to: --limit or --samples."""

    model_config = _written()

    limit: Size = _about('How many questions were asked for with --limit.')
    of: Size = _about('How many questions there were, all of which are asked where the limit is above that.')
    samples: Size = _about('n, where --samples said it.')


class Counts(BaseModel):
    """Columns, one entry a question: all that the scores are computed from."""

    model_config = _written('uid', 'problem', 'group', 'c', 'unjudged')

    uid: Names
    problem: Texts = Field(description='What translations of one problem share.')
    group: Texts = Field(description='{split}_{language}')
    c: Wholes = Field(description='Correct samples, from 0 to n.')
    unjudged: Wholes = _about('Samples without a verdict, from 0 to n - c.')
    undecided: Wholes = _about(
        'Samples that are incorrect because the judge gave up on them, from 0 to n - c - unjudged.'
    )


class Replicas(BaseModel):
    """Whether the n responses to a question look like n samples."""

    model_config = _written('distinct', 'identical_questions', 'long_repeats', 'warnings')

    distinct: Annotated[float, Field(ge=1)] = _about('Different responses a question, on average.')
    identical_questions: Whole = _about('Questions whose n responses are one text.')
    long_repeats: Whole = _about('Responses of 200 characters or more that repeat another one.')
    warnings: list[str] = Field(default_factory=list)


class Provenance(BaseModel):
    """What the samples of a run of OpenCompass were drawn with."""

    model_config = _written('warnings')

    created: Moment | None = _about('When the first task began, ISO 8601 in UTC.')
    model: dict[str, Any] | None = _about('Its entry in the config, as far as it chooses samples.')
    files: dict[str, Any] | None = _about(
        "By field: the hub's commit, or a hash of each file; by serve.$NAME one of its value."
    )
    versions: dict[str, Any] | None = _about("Of the engine's packages.")
    settings: str | None = _about('A digest of these four.')
    samples: str | None = _about('A digest of the fingerprints of all samples; empty if a row has none.')
    warnings: list[str] = Field(default_factory=list)


class Run(BaseModel):
    """Where the file did not come from a run of OpenCompass: what its path would say."""

    model_config = _written('host', 'created')

    model: str = _about('The name of the model, with its settings.')
    dataset: str = _about('The name of the benchmark, with k and n.')
    host: str = _about('Who ran it.')
    created: Moment = _about('ISO 8601, with a time zone.')


class Judge(BaseModel):
    """Who judged: everything that may change a verdict, and what was counted."""

    model_config = _written()

    name: str = _about('Of the judge.')
    statistics: dict[str, float] = _about('Of this evaluation; no part of who judged.')


class SampleFile(BaseModel):
    """The file beside this one that has a row a sample."""

    model_config = _written('name', 'sha256', 'rows')

    name: Annotated[str, Field(pattern=r'^[^/\\]+\.samples\.parquet$')] = Field(
        description='In the same folder.'
    )
    sha256: Annotated[str, Field(pattern='^[0-9a-f]{64}$')] = Field(description='Of its bytes.')
    rows: Annotated[int, Field(ge=1)] = Field(description='n times the questions.')


class Block(BaseModel):
    """What the scores rest on."""

    model_config = _written(
        *('schema', 'n', 'k', 'thresholds', 'samples', 'data', 'counts', 'unjudged', 'bounds', 'versions'),
        *('judge', 'signature'),
    )

    version: int = Field(
        alias='schema', description='Version of this layout.', json_schema_extra={'const': SCHEMA}
    )
    n: Size = Field(description='Samples a question.')
    k: Annotated[list[Size], Field(min_length=1, json_schema_extra={'uniqueItems': True})]
    thresholds: Annotated[list[Share], Field(json_schema_extra={'uniqueItems': True})]
    samples: Annotated[int, Field(ge=1)] = _about('n times the questions.')
    data: Data
    limited: Limited = _about(
        'In runs that were made smaller: they stand in no leaderboard unless they are asked for.'
    )
    counts: Counts
    sample_file: SampleFile = _about('The Parquet file beside this one, with a row a sample.')
    unjudged: Whole = _about('The sum of counts.unjudged.')
    undecided: Whole = _about('The sum of counts.undecided.')
    undecided_reasons: Tally = _about('Undecided samples by reason.')
    unjudged_reasons: Tally = _about('Unjudged samples by reason.')
    origins: Tally = _about('Samples by the check that decided.')
    bounds: dict[str, Annotated[list[Percent], Field(min_length=2, max_length=2)]] = _about(
        'Each score of all questions, with all unjudged and undecided samples wrong and with all right.',
        json_schema_extra={'required': ['accuracy']},
    )
    unboxed: Whole = _about('Responses without a boxed answer.')
    unanswered: Whole = _about('Responses without a final answer.')
    truncated: Whole = _about('Responses that were cut off.')
    truncated_by: Literal['engine', 'text', 'both'] = _about(
        'Who says that they were cut off: the engine of each, the look of the text, or of some this, of some '
        'that.'
    )
    truncated_known: Tally = _about('Of how many samples the engine says it, and of how many the text.')
    states: Tally = _about('Samples that are no usual response, by what they are; empty if there are none.')
    finish_reasons: Tally = _about('Samples by why the engine ended them; unknown where it did not say.')
    prompt_tokens: Whole = _about('Of all prompts together, each n times.')
    output_tokens: Whole = _about('Of all responses together.')
    reasoning_tokens: Whole = _about('Of all thoughts together; output_tokens counts them, too.')
    seconds: Annotated[float, Field(ge=0)] = _about('From request to reply, of all samples together.')
    hedged: Whole = _about('Responses that state more answers than are asked for; they count as incorrect.')
    replicas: Replicas = _about('Whether the n responses to a question look like n samples.')
    provenance: Provenance = _about('What the samples of a run of OpenCompass were drawn with.')
    run: Run = _about('Where the file did not come from a run of OpenCompass: what its path would say.')
    versions: dict[str, str] = _about(
        'Of this package, of Python, and of the host.',
        json_schema_extra={'required': ['gpassk_opencompass', 'python']},
    )
    judge: Judge
    signature: str = _about(
        'How the scores came about, in a line.', json_schema_extra={'pattern': _SIGNATURE}
    )


class Record(BaseModel):
    """One run: a model with its settings on one benchmark. Scores are percentages; readers ignore fields that
    they do not know."""

    model_config = _written(
        *('accuracy', 'details', 'gpassk'),
        patternProperties={
            SCORE: {
                'description': 'The mean over the questions, of all or of the group before the slash.',
                'type': 'number',
                'minimum': 0,
                'maximum': 100,
            }
        },
        additionalProperties=False,
    )

    details: Details = _about('What each sample said.')
    gpassk: Block


class ReadRecord(Record):
    """A record as a reader takes it, of a file or of Lighteval's rows."""

    details: ReadDetails = _about('What each sample said.')


class _Plain(GenerateJsonSchema):
    """Leaves out what says nothing: titles made of field names, and the defaults of what may be missing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> Any:
        return self.generate_inner(schema['schema'])

    def model_schema(self, schema: Any) -> Any:
        made = super().model_schema(schema)
        return {key: value for key, value in made.items() if (key, value) != ('additionalProperties', True)}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a result file."""
    schema = Record.model_json_schema(schema_generator=_Plain)
    head = {'$schema': GenerateJsonSchema.schema_dialect, '$id': f'urn:gpassk_opencompass:result:{SCHEMA}'}
    return {**head, **schema, 'title': 'Result of G-Pass@k'}


if __name__ == '__main__':
    print(json.dumps(json_schema(), indent=2))
