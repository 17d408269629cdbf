"""The measurements of the retrieval server run and say what they found. The figures themselves decide nothing here."""

import re

import pytest

for package in ("fastapi", "uvicorn", "prometheus_client", "urllib3"):
    pytest.importorskip(package, reason="needs the extras serve and client")

from benchmarks.retrieval import load, steps
from benchmarks.retrieval.crowd import Crowd, ask_at_once
from tests.search.fake_server import FakeServer, hits


def test_quantiles_and_growth():
    crowd = Crowd([float(number) for number in range(100)], [], 2.0)
    assert (crowd.quantile(0.5), crowd.quantile(0.99), crowd.quantile(1.0)) == (50.0, 99.0, 99.0)
    found = load.Load((crowd, Crowd([1.0], ["HTTP/1.1 500 No"], 1.0)), (100.0, 150.0))
    assert (len(found.whole.seconds), found.whole.failures, found.whole.took_s) == (101, ["HTTP/1.1 500 No"], 3.0)
    assert found.growth == 0.5
    assert "failures: 1 ['HTTP/1.1 500 No']" in load.report(found, 7)


def test_a_crowd_counts_answers_and_failures():
    def say(body):
        assert body["topk"] == 3
        return (500, {}) if body["queries"] == ["bad"] else (200, hits({"id": "1", "contents": "a"}))

    with FakeServer(say) as server:
        crowd = ask_at_once(server.url, ["good", "bad"], clients=4, seconds=0.2)
        assert len(server.lines) == 4
    assert len(crowd.seconds) + len(crowd.failures) == len(server.bodies)
    assert set(crowd.failures) == {"HTTP/1.1 500 Internal Server Error"}
    assert crowd.seconds


@pytest.mark.slow
def test_the_load_script(capsys):
    assert load.main(["--clients", "4", "--seconds", "1", "--size", "300"]) == 0
    assert re.search(r"4 clients, \d s: [1-9]\d* answers", capsys.readouterr().out)


@pytest.mark.slow
def test_the_steps_script(capsys):
    assert steps.main(["--size", "300", "--seconds", "0.1", "--rounds", "1"]) == 0
    table = capsys.readouterr().out
    for place in ("in this process", "sesa serve", "a connection a query", "a stub server"):
        assert re.search(rf"^{place} +one environment +[1-9]", table, re.MULTILINE)
        assert re.search(rf"^{place} +64 games +[1-9]", table, re.MULTILINE)
