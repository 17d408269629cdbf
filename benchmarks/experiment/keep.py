"""What of an experiment goes into a repository: all that its tables, figures and claims are made of, and no weights.

python -m benchmarks.experiment.keep runs/experiment-small docs/results/small

Cells that are finished are kept; of a study under way that may be some of its worlds. The directory is an experiment's like any
other, its answers, metrics and banks compressed: `run_all.py --resume --out` with a copy of it does what is left, and makes
tables, figures and claims again. Left out are weights, checkpoints, all banks but those of the main study's arms in `BANKED`,
what Solvers wrote before the last stage besides their answers, and the learner's diagnostics.
"""

import argparse
import lzma
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from agents.selfplay.metrics import BOOTSTRAP
from benchmarks.experiment.cells import EVALUATIONS, FINISHED, PACKED_BANK, PACKED_METRICS, read_evaluation
from benchmarks.experiment.coupling import KINDS_FILE
from benchmarks.experiment.design import MAIN
from benchmarks.experiment.run import CONFIG_FILE, refuse_another, write_design
from benchmarks.experiment.training import FOLDER
from benchmarks.records import Record, dump, read_json, read_records, write_file
from benchmarks.trained import BANK_FILE, METRICS_FILE
from benchmarks.units import PACKED_RECORDS
from sesa_env.errors import ConfigError, SesaError
from sesa_env.memory.file import compress

_TOLD = ("claims.json", "report.md", "environment.json", "tables", "figures")
_DIAGNOSTICS = (
    "approx_kl", "baseline", "clip_fraction", "grad_norm", "groups", "informative", "kl", "learning_rate", "loss",
    "policy_loss", "ratio", "recovered", "samples", "skipped", "steps",
)  # fmt: skip
_DIGITS = 6
BANKED = ("sesa", "sesa-carryover")
"""Arms of the main study whose final banks are kept: some 80 kB each."""


def keep(root: Path, place: Path) -> list[str]:
    """Copies what is finished of an experiment.

    Args:
        root: its directory.
        place: where to; what is there already of other cells stays.

    Returns:
        The ids of the cells kept.

    Raises:
        ConfigError: there is no experiment, or another one is kept there.
    """
    if not (root / CONFIG_FILE).is_file():
        raise ConfigError(f"{root}: expected the directory of an experiment, but {CONFIG_FILE} is missing")
    design = read_json(root / CONFIG_FILE)
    if (place / CONFIG_FILE).is_file():
        refuse_another(place, design)
    write_design(_made(place), design)
    banked = {cell["id"] for cell in design["cells"] if cell["study"] == MAIN and cell["arm"] in BANKED}
    cells = sorted(path.parent.name for path in (root / FOLDER).glob(f"*/{FINISHED}"))
    for cell in cells:
        last = _keep_training(root / FOLDER / cell, place / FOLDER / cell)
        if cell in banked:
            _keep_bank(root / FOLDER / cell / last, place / FOLDER / cell / last)
        for folder in sorted((root / EVALUATIONS).glob(f"{cell}-*")):
            _keep_evaluation(folder, place / EVALUATIONS / folder.name, root.resolve(), folder.name == f"{cell}-{last}")
    for path in (root / FOLDER).glob(f"*/{KINDS_FILE}"):
        shutil.copyfile(path, _made(place / FOLDER / path.parent.name) / path.name)
    for name in _TOLD:
        if (root / name).is_dir():
            shutil.copytree(root / name, place / name, dirs_exist_ok=True)
        elif (root / name).is_file():
            shutil.copyfile(root / name, place / name)
    return cells


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _keep_training(folder: Path, place: Path) -> str:
    """Keeps the marks of a training, and the metrics of its last stage, which has those of all before; returns that stage."""
    for path in folder.glob("*.json"):
        shutil.copyfile(path, _made(place) / path.name)
    last = max(path.name for path in folder.iterdir() if path.name.isdigit())
    if (folder / last / BOOTSTRAP).is_file():
        shutil.copyfile(folder / last / BOOTSTRAP, _made(place / last) / BOOTSTRAP)
    if (folder / last / PACKED_METRICS).is_file():
        shutil.copyfile(folder / last / PACKED_METRICS, _made(place / last) / PACKED_METRICS)
    else:
        _pack([slim(row) for row in read_records(folder / last / METRICS_FILE)], place / last / PACKED_METRICS)
    return last


def _keep_bank(folder: Path, place: Path) -> None:
    """Keeps the cards of a training with their lives; nothing where the bank is no longer there."""
    if (folder / PACKED_BANK).is_file():
        shutil.copyfile(folder / PACKED_BANK, place / PACKED_BANK)
    elif (folder / BANK_FILE).is_file():
        write_file(place / PACKED_BANK, compress(folder / BANK_FILE))


def slim(row: Record) -> Record:
    """Returns a row of metrics without the learner's diagnostics and the machine's; numbers to six digits, as written."""
    left_out = {f"{seat}_{name}" for seat in ("solver", "challenger") for name in _DIAGNOSTICS} | {"machine"}
    return {
        name: round(value, _DIGITS) if isinstance(value, float) else value
        for name, value in row.items()
        if name not in left_out
    }


def _keep_evaluation(folder: Path, place: Path, root: Path, told: bool) -> None:
    """Keeps the answers of an evaluation; of one that the report tells of, what was written for them too."""
    if (folder / PACKED_RECORDS).is_file():
        shutil.copytree(folder, place, dirs_exist_ok=True)
        return
    records = [{name: one[name] for name in one if told or name != "texts"} for one in read_evaluation(folder)]
    _pack(records, place / PACKED_RECORDS)
    for name in ("config.json", *(("plan.json",) if told else ())):
        # Files are named from the experiment's directory on: where that was is nobody's business.
        write_file(place / name, (folder / name).read_bytes().replace(f"{root}/".encode(), b""))


def _pack(rows: Sequence[Record], path: Path) -> None:
    write_file(path, lzma.compress(b"".join(map(dump, rows)), preset=9))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status: 0 done, 2 a mistake that the message explains."""
    parser = argparse.ArgumentParser(prog="keep", description="Keeps what is reported of an experiment, without its weights.")
    parser.add_argument("run", type=Path, help="the experiment's directory")
    parser.add_argument("place", type=Path, help="where to keep it")
    options = parser.parse_args(arguments)
    try:
        cells = keep(options.run, options.place)
    except SesaError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"{len(cells)} cells kept in {options.place}: {', '.join(cells)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
