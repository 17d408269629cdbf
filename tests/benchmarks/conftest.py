"""Fixtures of the harness's tests."""

import pytest

from tests.benchmarks.tiny import write_data


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory):
    """A directory with seven tiny benchmarks, to be read only."""
    return write_data(tmp_path_factory.mktemp("tiny"))
