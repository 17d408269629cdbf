"""What all tests share: Hypothesis's settings and the place of the real data."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sesa_env.memory.store import BankStore

ROOT = Path(__file__).resolve().parents[1]

# The same examples on every run and machine, and no clock in a verdict: machines are shared and noisy.
settings.register_profile("ci", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# For a hunt: pytest --hypothesis-profile=explore
settings.register_profile("explore", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")


@pytest.fixture(autouse=True)
def _close_banks(monkeypatch):
    """Closes the skill banks that a test has opened. That the library itself closes its own, tests/test_layers.py looks at.

    From Python 3.13 a database that is collected open is warned about, in whichever test happens to run at that moment.
    """
    opened: list[BankStore] = []
    plain = BankStore.__init__

    def remembered(self, *arguments, **options):
        plain(self, *arguments, **options)
        opened.append(self)

    monkeypatch.setattr(BankStore, "__init__", remembered)
    yield
    for store in opened:
        store.close()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the real benchmarks, one folder each: SESA_DATA, or ../shared/data beside the checkout."""
    folder = Path(os.environ.get("SESA_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is no folder; set SESA_DATA to one in FlashRAG's layout")
    return folder
