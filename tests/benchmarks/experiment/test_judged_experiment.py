"""An experiment with a judge, without any training: both scores, what was not judged, and an experiment that asks again."""

import pytest

pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("matplotlib", reason="needs the bench extra")
pytest.importorskip("openai")

from benchmarks.experiment.amount import amount_of
from benchmarks.experiment.design import Experiment, Study
from benchmarks.experiment.outcome import report_of
from benchmarks.experiment.results import Results
from benchmarks.experiment.run import run_experiment
from benchmarks.experiment.tables import experiment_tables
from tests.agents.fake_openai import FakeOpenAI


def test_evaluations_are_judged_and_what_was_not_is_asked_again(tmp_path):
    with FakeOpenAI(lambda body: "I cannot tell.") as server:
        study = Study(
            "main", "The start policy", ("base",), (0,), (1,), 1,
            controls={"base": ("shuffled",)}, judge=f"openai:court@{server.url}",
        )  # fmt: skip
        experiment = Experiment("judged", "quick", (study,))
        run_experiment(experiment, tmp_path, workers=1)
        before = Results(experiment, tmp_path).records(study, 1)
        server.answer = lambda body: "<verdict>yes</verdict>"
        run_experiment(experiment, tmp_path, workers=1, resume=True)
        asked = len(server.bodies)
        run_experiment(experiment, tmp_path, workers=1, resume=True)
        assert len(server.bodies) == asked  # all is judged
    after = Results(experiment, tmp_path).records(study, 1)
    assert len(before) == len(after) == sum(one.answers for one in amount_of(experiment).evaluations.values()) == 7 * 3
    waiting = [place for place, record in enumerate(before) if record["judged"] is None]
    assert waiting
    assert {after[place]["judged"] for place in waiting} == {True}
    assert [{**record, "judged": 0, "judgement": 0} for record in before] == [
        {**record, "judged": 0, "judgement": 0} for record in after
    ]
    results = Results(experiment, tmp_path)
    names = [table.name for table in experiment_tables(results, [])]
    assert names[:3] == ["main", "main_judged", "differences_judged"]
    report = report_of(experiment, [], {}, [], {})
    assert "were judged by `openai:court`" in report
    assert server.url not in report
