"""Two processes under torchrun learn what one does from the same whole batch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from tests.agents.data_parallel_worker import CASES, train

pytestmark = pytest.mark.slow  # two processes, each of which imports torch and transformers
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    """What each of two processes found."""
    out = tmp_path_factory.mktemp("ranks")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command = [*launch, "-m", "tests.agents.data_parallel_worker", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    return [torch.load(out / f"{rank}.pt") for rank in (0, 1)]


@pytest.mark.parametrize("case", CASES)
def test_two_processes_learn_what_one_does_from_the_whole_batch(two_processes, case):
    (metrics, weights), (others, other_weights) = (found[case] for found in two_processes)
    expected, expected_weights = train(case)
    assert torch.equal(weights, other_weights)
    assert metrics == others
    torch.testing.assert_close(weights, expected_weights, atol=1e-5, rtol=1e-4)
    for found, wanted in zip(metrics, expected, strict=True):
        assert found["steps"] == 4
        for name, value in wanted.items():
            assert found[name] == pytest.approx(value, abs=1e-3), name
