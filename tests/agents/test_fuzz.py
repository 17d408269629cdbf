"""Whatever a player writes, nothing is raised and no mask slips: 10,000 hostile episodes through game and rollout."""

import random

import pytest

torch = pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("transformers", reason="needs the llm extra")

from agents import rollout
from agents.decode import Decoder
from agents.rollout import Sampling, roll_out
from sesa_env.game import GameConfig, SearchGame
from tests.agents.toy_policy import toy_policy
from tests.toy import QUESTION, TARGET, toy_world

EPISODES = 10_000
TAGS = [
    f"<{slash}{name}>" for slash in ("", "/") for name in ("think", "search", "answer", "question", "information", "skills")
]
SURROGATES = ("\ud800", "\udfff")  # no ids decode to them
PIECES = [
    *TAGS,
    *(tag[:-1] for tag in TAGS),  # truncated
    *(tag[1:] for tag in TAGS),
    "<answer><answer>",
    "<search><search></search></search>",
    "</search></search>",
    "<SEARCH>",
    "< search >",
    "\U0001f600",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\x00",
    "\x1b[2J",
    "\u202e",
    "\ufeff",
    "\r\n",
    *SURROGATES,
    "outage",
    "alda wern",
    "{query}",
    "&lt;",
    'Doc 1 (Title: "x") y',
    "<|im_end|>",
]
WORLD = toy_world()
RULES = GameConfig(group_size=1, max_turns=3, challenger_max_turns=3, max_action_chars=2000)


def hostile(rng):
    return "".join(rng.choices(PIECES, k=rng.randrange(8)))


def fresh(task):
    game = SearchGame(WORLD, RULES)
    game.reset(task)
    return game


@pytest.mark.parametrize("task", [QUESTION, TARGET], ids=["solver", "challenger"])
def test_texts_never_raise(task):
    rng = random.Random(0)
    for _ in range(EPISODES // 2):
        game = fresh(task)
        while game.actor is not None:
            outcome = game.act(hostile(rng))
            outcome.observation.encode("utf-8")
            game.state.transcript[-1].text.encode("utf-8")
        assert len(game.state.transcript) <= 2 * RULES.max_turns


@pytest.mark.parametrize(
    "text", ["<answer>" + "a" * 100_000 + "</answer>", "<answer>" * 12_500, "<search>" + "\ud800" * 100_000]
)
def test_texts_of_100_kilobytes_never_raise(text):
    for rules in (RULES, GameConfig(group_size=1, max_turns=3, max_action_chars=10**6)):
        game = SearchGame(WORLD, rules)
        game.reset(QUESTION)
        while game.actor is not None:
            game.act(text)
        assert all(attempt.texts for attempt in game.attempts)


class Scribe(Decoder):
    """Writes hostile pieces mixed with any ids instead of what a model would: other ones at each seed and turn of a row."""

    def __init__(self, policy, sampling):
        super().__init__(policy, sampling)
        self.pieces = [policy.tokenizer(piece)["input_ids"] for piece in PIECES if piece not in SURROGATES]

    def sample_turns(self, rows):
        for row in rows:
            rng = random.Random(f"{row.seed} {row.turn}")
            row.limit, row.ended = min(self.sampling.turn_tokens, self.room(row)), False
            while not row.ended and len(row.written) < row.limit:
                for token in self._piece(rng)[: row.limit - len(row.written)]:
                    row.written.append(token)
                    row.scores.append(-1.0)
                    row.ended = self.policy.stops.ends(row.written)
                    if row.ended:
                        break
            row.close_turn()

    def _piece(self, rng):
        if rng.random() < 0.4:
            return [rng.randrange(len(self.policy.tokenizer))]
        return rng.choice(self.pieces)


def test_ids_never_raise_and_never_slip_a_mask(monkeypatch):
    monkeypatch.setattr(rollout, "Decoder", Scribe)
    policy, written, seed = toy_policy("bytes", style="tiny"), set(), 0
    policy.model.config.max_position_embeddings = 10**6
    while len(written) < EPISODES:
        games, seeds = [fresh(task) for task in (QUESTION, TARGET) * 500], range(seed, seed + 1000)
        seed += 1000
        for game, made in zip(
            games, roll_out(policy, games, Sampling(turn_tokens=40, tokens=600, batch=500), seeds), strict=True
        ):
            written.add(made.ids)
            assert game.actor is None
            assert len(made.ids) == len(made.sampled) == len(made.logprobs)
            assert [score < 0 for score in made.logprobs] == list(made.sampled)
            assert tuple(policy.decode(made.ids[start:stop]) for start, stop in made.turns) == made.texts
            assert tuple(turn.text for turn in game.state.transcript)[: len(made.texts)] == made.texts
            assert sum(stop - start for start, stop in made.turns) == sum(made.sampled)


def test_an_answer_of_100_kilobytes_keeps_its_mask(monkeypatch):
    class Endless(Scribe):
        def _piece(self, rng):
            return [self.policy.tokenizer.get_vocab()["a"]] * 50_000

    monkeypatch.setattr(rollout, "Decoder", Endless)
    policy = toy_policy("bytes")
    policy.model.config.max_position_embeddings = 10**6
    game = fresh(QUESTION)
    (made,) = roll_out(policy, [game], Sampling(turn_tokens=100_000, tokens=10**6), [0])
    assert [len(text) for text in made.texts] == [100_000] * 3
    assert game.attempts[0].end == "forfeit"
    assert sum(made.sampled) == 300_000


@pytest.mark.parametrize("kind", ["bytes", "bos", "words"])
def test_ids_of_a_model_without_any_preference_never_raise(kind):
    policy = toy_policy(kind, style="tiny")
    games = [fresh(task) for task in (QUESTION, TARGET) * 30]
    for game, made in zip(games, roll_out(policy, games, Sampling(1e6, turn_tokens=12), range(60)), strict=True):
        assert game.actor is None
        assert tuple(policy.decode(made.ids[start:stop]) for start, stop in made.turns) == made.texts
