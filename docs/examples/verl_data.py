"""Writes verl's data sets for both seats. With the extra parquet:

python docs/examples/verl_data.py --out data
"""

import argparse
from pathlib import Path

from sesa_env.integrations.seats import SeatTasks
from sesa_env.integrations.verl_data import write_rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("data"))
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    for role in ("solver", "challenger"):
        path = options.out / f"{role}.parquet"
        count = write_rows(path, SeatTasks(role, corpus="miniwiki"), f"sesa_{role}")
        print(f"{path}: {count} rows")


if __name__ == "__main__":
    main()
