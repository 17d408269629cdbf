"""Checkpoints: whole or not there, the last two and the newest healthy one kept, the bank put back as it was."""

import pytest

pytest.importorskip("torch")

from agents.selfplay.checkpoint import Checkpoints
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.prime import prime


def names(checkpoints):
    return sorted(path.name for path in checkpoints.folder.iterdir())


def test_the_last_two_are_kept_and_the_newest_healthy_one(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.latest() is None
    for updates, healthy in ((0, True), (2, True), (4, False), (6, False), (8, False)):
        checkpoints.write(updates, {}, None, {"healthy": healthy})
    assert names(checkpoints) == ["000002", "000006", "000008"]
    assert (checkpoints.latest(), checkpoints.newest_healthy()) == (8, 2)
    checkpoints.write(10, {}, None, {"healthy": True})
    assert names(checkpoints) == ["000008", "000010"]


def test_what_was_not_finished_is_no_checkpoint(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(2, {}, None, {"healthy": True})
    (checkpoints.folder / "000004.part").mkdir()
    (checkpoints.folder / "removed").mkdir()
    assert checkpoints.latest() == 2
    checkpoints.write(4, {}, None, {"healthy": True, "pool": [1]})
    assert checkpoints.state(4) == {"healthy": True, "pool": [1], "updates": 4}
    assert names(checkpoints) == ["000002", "000004"]


def test_the_bank_is_put_back_whatever_has_become_of_it(tmp_path):
    checkpoints, path = Checkpoints(tmp_path), tmp_path / "bank.sqlite"
    with SkillBank.open(path, run="selfplay") as bank:
        prime(bank)
        before = bank.digest()
        checkpoints.write(0, {}, bank, {"healthy": True})
        bank.commit(0, [])
        assert bank.digest() != before
        checkpoints.restore_bank(0, path)  # a killed process leaves its journal behind
    with SkillBank.open(path, run="selfplay", create=False) as bank:
        assert bank.digest() == before
