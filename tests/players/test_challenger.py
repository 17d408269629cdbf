"""The scripted Challenger on real-looking passages and on the built-in world."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.game import GameConfig, SearchGame
from sesa_env.players.base import View
from sesa_env.players.challenger import ScriptedChallenger
from sesa_env.players.cloze import Mention, cloze, mentions
from sesa_env.types import Passage, Role, SearchCall, Target
from sesa_env.worlds import World
from sesa_env.worlds import make_world as make_named_world

PAGES = [
    Passage("1", "The Silent Oak", "The Silent Oak is a novel. It was written by Mara Quell in the winter of 1830."),
    Passage("2", "Bero Tamm", "Bero Tamm was a critic. He praised the famous book The Silent Oak in a letter to his sister."),
    Passage("3", "Ulm Review", "The Ulm Review was a paper. Its editor for many years was Bero Tamm of Norland."),
    Passage("4", "Dunhold", "Dunhold is a town of no importance on the river Ester."),
]


def pose(world, target: Target, seed: int = 0) -> SearchGame:
    """Lets the Challenger play its seat to the end."""
    game, player = SearchGame(world, GameConfig(group_size=1)), ScriptedChallenger(world, seed)
    game.reset(target)
    while game.actor is Role.CHALLENGER:
        game.act(player.act(game.view()))
    return game


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_walks_shared_names_to_a_question_that_passes_the_filters(make_world, hops):
    world = make_world(PAGES)
    game = pose(world, Target("t", "Mara Quell", hops))
    assert game.state.reject_reason == ""
    assert len(game.state.transcript) >= hops + 1
    assert game.question.text.count("Consider") == hops - 1
    assert "Mara Quell" not in game.question.text


def test_a_target_that_no_passage_mentions_gives_no_valid_question(make_world):
    assert pose(make_world(PAGES), Target("t", "Nobody Nowhere", 1)).state.reject_reason != ""


def test_a_cloze_names_only_the_last_page():
    chain = [Mention("Silent Oak", "Mara Quell wrote Silent Oak in 1830."), Mention("Bero Tamm", "He praised Silent Oak.")]
    assert cloze("Mara Quell", chain) == (
        'Consider A, where "He praised A" is a statement about Bero Tamm. '
        'Which name fills the blank in the statement about A that reads "_____ wrote A in 1830"?'
    )


@pytest.mark.parametrize(
    ("target", "kind"), [("1830", "year"), ("3 May 1830", "date"), ("12,400", "number"), ("Mara Quell", "name")]
)
def test_a_cloze_says_what_kind_of_thing_is_missing(target, kind):
    assert f"Which {kind} fills" in cloze(target, [Mention("T", f"It was {target} then.")])


def test_mentions_are_whole_words_and_other_pages_come_first():
    pages = [
        Passage("1", "Ester", "The river Ester is long and wide."),
        Passage("2", "Ulm", "The town of Ulm lies on the Ester. Esterhazy never came to Ulm at all."),
    ]
    found = mentions("Ester", pages)
    assert found == [Mention("Ulm", "The town of Ulm lies on the Ester."), Mention("", "The river Ester is long and wide.")]


def test_seeds_pose_different_questions_and_one_seed_the_same(make_world):
    pages = [Passage(str(i), f"Page {i}", f"In the year {1800 + i} a visitor called Mara Quell came by.") for i in range(6)]
    world = make_world(pages)
    texts = [pose(world, Target("t", "Mara Quell", 1), seed).question.text for seed in (1, 1, 2, 3, 4, 5)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_on_the_built_in_world_questions_come_from_the_graph_and_are_valid(hops):
    world = make_named_world("miniwiki", seed=1000, size=400, n_targets=60)
    targets = [target for target in world.targets if target.hops == hops][:10]
    games = [pose(world, target) for target in targets]
    assert games
    assert [game.state.reject_reason for game in games] == [""] * len(games)
    assert all(game.question.evidence and len(game.question.evidence) == hops for game in games)


def test_real_targets_mostly_give_valid_questions(shared_data):
    world = make_named_world("flashrag", data=str(shared_data), benchmarks=["popqa"], n_targets=12)
    valid = [pose(world, target).state.reject_reason == "" for target in world.targets]
    assert sum(valid) >= len(valid) / 2


def test_poses_at_once_when_it_must(make_world, make_view):
    view = make_view(role=Role.CHALLENGER, target="Mara Quell", hops=2, turns_left=1)
    assert ScriptedChallenger(make_world(PAGES)).act(view).startswith("<question>")


ANY = st.one_of(st.text(max_size=40), st.sampled_from(["</question>", "<search>", "\ud800", "Mara Quell wrote a book in Ulm."]))
WELL_FORMED = re.compile(r"<(search|question)>[^<>]*[^<>\s][^<>]*</\1>")
FOUND = st.lists(st.lists(st.builds(Passage, ANY, ANY, ANY), max_size=3).map(tuple), max_size=4)


@given(target=ANY, hops=st.integers(0, 3), found=FOUND, left=st.integers(0, 3))
def test_every_turn_is_one_well_formed_action(target, hops, found, left):
    view = View(Role.CHALLENGER, "", (), "", target, hops, (), tuple(SearchCall("q", row) for row in found), 5, left)
    player = ScriptedChallenger(World("empty", "empty", [], None, None, (), ()))
    assert WELL_FORMED.fullmatch(player.act(view))
    assert player.act(view) == player.act(replace(view, prompt="other words"))
