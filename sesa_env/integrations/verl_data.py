"""verl's data set for a seat; written without verl."""

from pathlib import Path
from typing import Any

from sesa_env.errors import missing_extra
from sesa_env.integrations.seats import SeatTasks


def rows(tasks: SeatTasks, agent: str) -> list[dict[str, Any]]:
    """Returns the rows: each names its task, its agent loop, and the prompt that verl measures against its limit.

    Args:
        tasks: made of the same arguments as the loop.
        agent: the loop's name in verl's configuration.
    """
    prompts = (tasks.begin(index).view().prompt for index in range(len(tasks)))
    return [
        {
            "data_source": f"sesa/{tasks.role.value}",
            "agent_name": agent,
            "prompt": [{"role": "user", "content": prompt}],
            "reward_model": {"style": "rule", "ground_truth": ""},  # read by nobody: the loop brings the reward
            "extra_info": {"index": index},
        }
        for index, prompt in enumerate(prompts)
    ]


def write_rows(path: str | Path, tasks: SeatTasks, agent: str) -> int:
    """Writes the rows as parquet.

    Args:
        path: the file.
        tasks: as for `rows`.
        agent: as for `rows`.

    Returns:
        How many there are.

    Raises:
        ConfigError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra(error.name or "pyarrow", "parquet") from error
    table = pyarrow.Table.from_pylist(written := rows(tasks, agent))
    pyarrow.parquet.write_table(table, path)
    return len(written)
