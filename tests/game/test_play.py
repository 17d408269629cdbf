"""Whole episodes in lock-step: neither the batch nor the way a player is asked changes anything."""

import pytest

from sesa_env.errors import ConfigError, SesaError
from sesa_env.game import GameConfig, SearchGame
from sesa_env.play import play, play_questions
from sesa_env.types import Question, Role
from sesa_env.worlds import make_world
from tests.toy import LONG_QUESTION, QUESTION, TARGET, ToySnapshot, card, toy_world


class Scripted:
    """Searches the question's last word, then answers it; asked one by one."""

    def act(self, view):
        word = view.question.rstrip("?").split()[-1]
        return f"<answer>{word}</answer>" if view.searches else f"<search>{word}</search>"


class Batched(Scripted):
    """The same, asked in batches, which it keeps count of."""

    def __init__(self):
        self.batches = []

    def act_batch(self, views):
        self.batches.append(len(views))
        return [self.act(view) for view in views]


def questions(count):
    return [Question(f"q{i}", f"Is it {word}?", (word,)) for i, word in enumerate(("wern", "vale", "rained", "outage") * 3)][
        :count
    ]


@pytest.mark.parametrize("batch", [1, 2, 5, 64])
def test_the_batch_changes_nothing(batch):
    world = toy_world()
    one_by_one = play_questions(world, questions(3), Scripted(), batch=1)
    assert play_questions(world, questions(3), Scripted(), batch=batch) == one_by_one
    assert [attempt.prediction for attempt in one_by_one] == ["wern", "vale", "rained"]


def test_searches_of_a_batch_share_one_call():
    world = toy_world()
    play_questions(world, questions(3), Scripted())
    assert world.retriever.calls == [["wern", "vale", "rained"]]


def test_batch_players_are_asked_in_batches():
    player = Batched()
    assert play_questions(toy_world(), questions(3), player) == play_questions(toy_world(), questions(3), Scripted())
    assert player.batches == [3, 3]


def test_a_query_that_fails_harms_no_other_game_of_the_batch():
    attempts = play_questions(toy_world(), questions(4), Scripted(), GameConfig(max_turns=2))
    assert [attempt.end for attempt in attempts] == ["answered"] * 3 + ["out_of_turns"]
    assert [attempt.failed_searches for attempt in attempts] == [0, 0, 0, 2]
    assert attempts[3].searches == ()


def test_a_player_that_returns_no_text_is_named():
    class Silent:
        def act(self, view):
            return None

    with pytest.raises(SesaError, match="the solver's turn: expected a string; got NoneType"):
        play_questions(toy_world(), [QUESTION], Silent())


def test_cards_are_shown_in_on_mode_only():
    memory = ToySnapshot((card("c7"),))
    on = play_questions(toy_world(), [QUESTION], Scripted(), memory=memory)
    off = play_questions(toy_world(), [QUESTION], Scripted())
    assert on[0].cards == (("c7", 0.5),)
    assert off[0].cards == ()


def test_the_group_size_of_the_rules_does_not_matter():
    assert len(play_questions(toy_world(), [QUESTION], Scripted(), GameConfig(group_size=4))) == 1


def test_a_whole_game_of_both_seats():
    class Poser:
        def act(self, view):
            return f"<question>{LONG_QUESTION}</question>" if view.searches else "<search>alda wern</search>"

    game = SearchGame(toy_world(), GameConfig(group_size=3))
    game.reset(TARGET)
    play([game], {Role.CHALLENGER: Poser(), Role.SOLVER: Scripted()})
    assert len(game.attempts) == 3
    assert game.attempts[0].prediction == "Wern"


def test_an_empty_seat_is_named():
    game = SearchGame(toy_world())
    game.reset(TARGET)
    with pytest.raises(ConfigError, match="expected a player for the challenger's seat"):
        play([game], {Role.SOLVER: Scripted()})
    with pytest.raises(ConfigError, match="batch: expected at least 1"):
        play_questions(toy_world(), [QUESTION], Scripted(), batch=0)


def test_scripted_players_play_alike_in_any_batch_on_the_built_in_world():
    from sesa_env.players.load import load_player

    world = make_world("miniwiki", size=300)
    asked = list(world.questions[:30])
    assert play_questions(world, asked, load_player("naive", world), batch=7) == play_questions(
        world, asked, load_player("naive", world), batch=30
    )
