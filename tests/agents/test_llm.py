"""A language model as a player: what it does is the same however it is asked, and its own text is never tokenised again."""

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("transformers", reason="needs the llm extra")

from agents import llm
from agents.llm import LlmPlayer
from agents.rollout import Sampling, history_ids
from sesa_env.game import GameConfig, SearchGame
from sesa_env.play import SeatPlayer, play, play_questions
from sesa_env.players.base import BatchPlayer
from sesa_env.types import Role
from tests.agents.leaning import leaning_policy, toy_games
from tests.toy import LONG_QUESTION, TARGET, toy_world

POLICY = leaning_policy()
SAMPLED = Sampling(turn_tokens=10, tokens=500)
GREEDY = replace(SAMPLED, greedy=True)
RULES = GameConfig(max_turns=4)


class OneByOne:
    """The same player, asked turn by turn and one view at a time."""

    def __init__(self, player):
        self.act = player.act


class InBatches(OneByOne):
    """The same player, asked turn by turn in batches."""

    def __init__(self, player):
        super().__init__(player)
        self.act_batch = player.act_batch


def questions(count):
    return [game.question for game in toy_games(count)]


def test_it_is_a_player_of_every_kind():
    player = LlmPlayer(POLICY)
    assert isinstance(player, SeatPlayer)
    assert isinstance(player, BatchPlayer)
    assert player.sampling.greedy


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_how_it_is_asked_changes_nothing(sampling):
    asked = questions(9)
    attempts = play_questions(toy_world(), asked, LlmPlayer(POLICY, sampling, seed=4), RULES)
    assert max(len(attempt.texts) for attempt in attempts) > 1
    for batch in (1, 4):
        assert play_questions(toy_world(), asked, LlmPlayer(POLICY, sampling, seed=4), RULES, batch=batch) == attempts
    for face in (OneByOne, InBatches):
        assert play_questions(toy_world(), asked, face(LlmPlayer(POLICY, sampling, seed=4)), RULES, batch=5) == attempts
    narrow = replace(sampling, batch=2)
    assert play_questions(toy_world(), asked, InBatches(LlmPlayer(POLICY, narrow, seed=4)), RULES) == attempts


def test_the_seed_matters_when_sampling_only():
    def texts(sampling, seed):
        return [
            attempt.texts for attempt in play_questions(toy_world(), questions(6), LlmPlayer(POLICY, sampling, seed), RULES)
        ]

    assert texts(SAMPLED, 0) != texts(SAMPLED, 1)
    assert texts(GREEDY, 0) == texts(GREEDY, 1)


def test_the_attempts_of_a_group_differ():
    (game,) = toy_games(1, group_size=6)
    play([game], {Role.SOLVER: LlmPlayer(POLICY, SAMPLED)})
    assert len(game.attempts) == 6
    assert len({attempt.texts for attempt in game.attempts}) > 1


def test_it_plays_its_seat_and_no_other():
    class Poser:
        def act(self, view):
            return f"<question>{LONG_QUESTION}</question>" if view.searches else "<search>alda wern</search>"

    game = SearchGame(toy_world(), GameConfig(group_size=2, max_turns=4))
    game.reset(TARGET)
    play([game], {Role.CHALLENGER: Poser(), Role.SOLVER: LlmPlayer(POLICY, SAMPLED)})
    assert len(game.attempts) == 2
    assert game.state.transcript[0].actor is Role.CHALLENGER


def test_its_own_turns_are_never_tokenised_again(monkeypatch):
    monkeypatch.setattr(llm, "history_ids", None)  # would fail if anything were tokenised
    attempts = play_questions(toy_world(), questions(6), OneByOne(LlmPlayer(POLICY, SAMPLED)), RULES)
    assert max(len(attempt.texts) for attempt in attempts) > 1


def test_what_others_wrote_is_tokenised():
    (game,) = toy_games(1)
    game.act("<search> author </search>")
    player = LlmPlayer(POLICY, GREEDY)
    text = player.act(game.view())
    assert text == LlmPlayer(POLICY, GREEDY).act(game.view())
    game.act(text)
    if game.actor is not None:
        assert isinstance(player.act(game.view()), str)


def test_the_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(llm, "_REMEMBERED", 3)
    player = LlmPlayer(POLICY, GREEDY)
    player.act_batch([game.view() for game in toy_games(7)])
    assert len(player._memory) == 3


def test_a_view_that_leaves_no_room_is_answered_with_nothing():
    player = LlmPlayer(POLICY, replace(GREEDY, tokens=5))
    (game,) = toy_games(1)
    assert player.act(game.view()) == ""
    player.play_seat([game])
    assert game.attempts[0].end == "out_of_turns"


def test_earlier_turns_count_towards_the_response_and_not_the_prompt():
    (game,) = toy_games(1)
    prompt = len(POLICY.prompt_ids(game.view()))
    game.act("<search> author </search>")
    view = game.view()
    begun = len(history_ids(POLICY, [], view.turns))
    for response, plays in ((begun, False), (begun + 1, True)):
        player = LlmPlayer(POLICY, replace(GREEDY, prompt_tokens=prompt, response_tokens=response))
        assert bool(player.act(view)) == plays
    assert LlmPlayer(POLICY, replace(GREEDY, prompt_tokens=prompt - 1)).act(view) == ""
