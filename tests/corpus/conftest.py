"""Writes small benchmarks into a temporary directory."""

import gzip
import json

import pytest


@pytest.fixture
def write(tmp_path):
    def write(name, records):
        """Writes records as JSONL; strings and bytes are written as they are."""
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [record if isinstance(record, str | bytes) else json.dumps(record) for record in records]
        data = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path

    return write


def passage(number, title="Alda Wern", text="Alda Wern wed Corin Vale."):
    return {"id": str(number), "contents": f'"{title}"\n{text} ({number})'}


def question(number, **changes):
    return {"id": f"test_{number}", "question": f"who wed alda wern {number}", "golden_answers": ["Corin Vale"], **changes}
