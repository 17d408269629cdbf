"""Questions in verl parquet, as Search-R1 and SSP publish them, brought to the records of FlashRAG's JSONL.

Search-R1 (`nq_hotpotqa_train`): "question" and "golden_answers" stand beside verl's columns; the id is in "id".
SSP, evaluation: the question is in `extra_info.question`, the answers in `reward_model.ground_truth.target`, the benchmark in
"data_source" as "searchR1_nq"; there is no id, so `extra_info.index` or the row's number stands in.
SSP, training: no questions, but targets for the Challenger (see `sesa_env.corpus.seeds`); read as questions they are refused.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sesa_env.corpus import fields
from sesa_env.corpus.problems import Malformed, Problems, shorten
from sesa_env.errors import missing_extra

SSP_DUMMY = "dummy"
"""What SSP writes where a training row has no question."""

_MARKER = "Question:"
_BATCH_ROWS = 4096


def read_raw_rows(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the rows of a parquet file as they are: the row's number, from 1, and its columns.

    Raises:
        ConfigError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra("pyarrow", "parquet") from error
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (OSError, pyarrow.ArrowException) as error:
        problems.add(path, f"after row {number}", f"cannot be read further as parquet ({error}); is the file complete?")


def read_rows(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the questions of a verl parquet file as records with "id", "question", "golden_answers" and "metadata".

    Args:
        path: the file.
        problems: where malformed rows are noted.

    Yields:
        The row's number, from 1, and its record. The fields are not yet checked, beyond what is needed to find them.
    """
    for number, row in read_raw_rows(path, problems):
        try:
            yield number, question_record(row, number)
        except Malformed as error:
            problems.add(path, f"row {number}", str(error))


def question_record(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Brings one row, the `number`-th from 1, to a record.

    Raises:
        Malformed: there is no question or no answer in it, or a column is of another type.
    """
    extra = fields.mapping(row, "extra_info")
    index = row.get("id")
    if index is None:
        split = extra.get("split") or "row"
        index = f"{split}_{number - 1 if extra.get('index') is None else extra['index']}"
    return {
        "id": index,
        "question": _question_text(row, extra),
        "golden_answers": _answers(row),
        "metadata": row.get("metadata"),
        "data_source": fields.source(row).removeprefix("searchR1_"),
    }


def _question_text(row: Mapping[str, Any], extra: Mapping[str, Any]) -> str:
    """Finds the bare question: in `extra_info`, in its own column, or behind the last "Question:" of the prompt."""
    for value in (extra.get("question"), row.get("question")):
        if isinstance(value, str) and value.strip():
            if value.strip() == SSP_DUMMY:
                raise Malformed("this row is a target for the Challenger, not a question; give the file as `targets`")
            return value
    said = [content for role, content in fields.turns(row) if role == "user"]
    if said and _MARKER in said[-1]:
        return said[-1].rpartition(_MARKER)[2]
    raise Malformed(
        f'expected the question in extra_info.question, in the column "question" or behind "{_MARKER}" in the prompt; '
        f"the columns are {', '.join(sorted(row))}"
    )


def ground_truth(row: Mapping[str, Any]) -> Any:
    """Returns `reward_model.ground_truth.target`, or `ground_truth` where it is not an object; None where there is neither."""
    model = row.get("reward_model")
    truth = model.get("ground_truth") if isinstance(model, Mapping) else None
    return truth.get("target") if isinstance(truth, Mapping) else truth


def _answers(row: Mapping[str, Any]) -> Any:
    """Finds the answers. Here a bare string is one answer: SSP publishes single targets so."""
    truth = ground_truth(row)
    value = row.get("golden_answers") if truth is None else truth
    if value is None:
        raise Malformed(
            'expected the answers in reward_model.ground_truth.target or in the column "golden_answers"; '
            f"reward_model is {shorten(row.get('reward_model'))}"
        )
    return [value] if isinstance(value, str) else value
