"""The toy world behind the registered environment, for tests that count in milliseconds."""

import pytest

from tests.faces.scripts import WORLD


@pytest.fixture(scope="module")
def toy():
    """Every environment of the module is made on the toy world."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sesa_env.records.make_world", lambda name, **_: WORLD)
        yield
