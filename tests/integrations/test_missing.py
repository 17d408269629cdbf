"""Without a trainer's package, its face says what to type."""

import importlib
from importlib.util import find_spec

import pytest

from sesa_env.errors import ConfigError
from sesa_env.integrations.trl_sampling import sample_turns


@pytest.mark.parametrize("name", ["verl", "verifiers"])
def test_a_missing_package_is_told_on_import(name):
    if find_spec(name) is not None:
        pytest.skip(f"{name} is installed")
    with pytest.raises(ConfigError, match=rf"sesa-env\[{name}\]"):
        importlib.import_module(f"sesa_env.integrations.{name}")


def test_missing_trl_is_told_when_turns_are_sampled():
    if find_spec("trl") is not None:
        pytest.skip("trl is installed")
    with pytest.raises(ConfigError, match=r"sesa-env\[trl\]"):
        sample_turns(None, [[1]], [1], lambda turn: True)
