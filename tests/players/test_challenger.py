"""The scripted Challenger on real-looking passages and on the built-in world."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.game import GameConfig, SearchGame
from sesa_env.players.base import View
from sesa_env.players.blank import hops_of
from sesa_env.players.challenger import ScriptedChallenger
from sesa_env.players.cloze import Mention, bare_title, cloze, joins, mentions
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
    chain = [
        Mention("Silent Oak", "Mara Quell wrote Silent Oak in 1830.", "Mara Quell"),
        Mention("Bero Tamm", "He praised Silent Oak.", "Silent Oak"),
    ]
    assert cloze(chain) == (
        'Consider A, where "He praised A" is a statement about Bero Tamm. '
        'Which name fills the blank in the statement about A that reads "_____ wrote A in 1830"?'
    )


def test_a_cloze_does_not_name_the_page_of_a_statement_that_leads_on_by_a_name_in_it():
    chain = [
        Mention("Ulm Fair", "Mara Quell met Bero Tamm there.", "Mara Quell"),
        Mention("Ulm", "Its critic was Bero Tamm.", "Bero Tamm"),
    ]
    assert cloze(chain) == (
        'Consider A, where "Its critic was A" is a statement about Ulm. '
        'Which name fills the blank in the statement that reads "_____ met A there"?'
    )


OAK = Mention("Silent Oak", "Mara Quell wrote Silent Oak in 1830.", "Mara Quell")


@pytest.mark.parametrize(
    "clue",
    [
        Mention("Ulm", "Bero Tamm praised Silent Oak by Mara Quell.", "Silent Oak"),  # gives the target away
        Mention("Ulm", "A critic praised Silent Oak.", "Silent Oak"),  # a letter of its own
        Mention("Ulm", "He praised Oak.", "Oak"),  # stands in no statement before
        Mention("Ulm", "Her sister was Quell too.", "Quell"),  # part of the target
    ],
)
def test_a_clue_that_is_none_joins_nothing(clue):
    assert joins([OAK, Mention("Ulm", "He praised Silent Oak.", "Silent Oak")])
    assert clue.name == "Oak" or not joins([OAK, clue])
    assert not joins([Mention("Elm", "Mara Quell wrote it.", "Mara Quell"), clue])


def test_brackets_of_a_title_are_not_looked_for_in_texts():
    assert [bare_title(text) for text in ("Littlerock (film)", "Shenron -", "Ulm", "(1)")] == [
        "Littlerock",
        "Shenron",
        "Ulm",
        "(1)",
    ]


def test_a_chain_may_go_over_a_name_in_the_statement_and_takes_the_searches_that_it_needs(make_world):
    """The page of the statement is mentioned nowhere; a name in the statement is, on a page that a later search brings."""
    pages = [
        Passage("1", "Ester Fair (1830)", "Mara Quell opened the fair together with Bero Tamm in 1830."),
        Passage("2", "Ulm Review", "For many years its editor was the critic Bero Tamm of Norland."),
        *(Passage(f"x{i}", f"Page {i}", f"In the year {1800 + i} a visitor called Mara Quell came by.") for i in range(2)),
    ]
    game = pose(make_world(pages), Target("t", "Mara Quell", 2))
    assert game.state.reject_reason == ""
    assert "Bero Tamm" not in game.question.text
    assert 'the critic A of Norland" is a statement about Ulm Review' in game.question.text


def test_the_walk_keeps_to_nine_searches_and_poses_with_what_it_has(make_world):
    pages = [Passage(str(i), f"Page {i}", f"In the year {1800 + i} a visitor called Mara Quell came by.") for i in range(20)]
    game = pose(make_world(pages), Target("t", "Mara Quell", 3))
    assert [turn.event for turn in game.state.transcript].count("search") == 9
    assert "Consider" not in game.question.text


def test_the_verifier_tells_how_many_statements_are_chained(make_world):
    player, reader = ScriptedChallenger(make_world(PAGES)), make_world().verifier
    for hops in (1, 2, 3):
        game = pose(make_world(PAGES), Target("t", "Mara Quell", hops))
        assert reader.verify(game.question.text, PAGES).hops == hops
    assert player.act(View(Role.CHALLENGER, "", (), "", "Mara Quell", 3, (), (), 10, 9)).startswith("<search>")


@pytest.mark.parametrize(
    ("clue", "hops"),
    [
        ('Consider A, where "He praised A" is a statement about Bero Tamm. ', 2),
        ('Consider A, where "He never read A" is a statement about Bero Tamm. ', 1),  # no text holds it
        ('Consider B, where "He praised B" is a statement about Bero Tamm. ', 1),  # its letter leads nowhere
    ],
)
def test_only_clues_that_lead_on_count_as_hops(clue, hops):
    asked = 'Which name fills the blank in the statement about A that reads "_____ wrote A in 1830"?'
    texts = ["Mara Quell wrote Silent Oak in 1830.", "He praised Silent Oak."]
    assert hops_of(clue + asked, texts) == hops


@pytest.mark.parametrize(
    ("target", "kind"), [("1830", "year"), ("3 May 1830", "date"), ("12,400", "number"), ("Mara Quell", "name")]
)
def test_a_cloze_says_what_kind_of_thing_is_missing(target, kind):
    assert f"Which {kind} fills" in cloze([Mention("T", f"It was {target} then.", target)])


def test_mentions_are_whole_words_and_other_pages_come_first():
    pages = [
        Passage("1", "Ester", "The river Ester is long and wide."),
        Passage("2", "Ulm", "The town of Ulm lies on the Ester. Esterhazy never came to Ulm at all."),
    ]
    found = mentions("Ester", pages)
    assert found == [
        Mention("Ulm", "The town of Ulm lies on the Ester.", "Ester"),
        Mention("", "The river Ester is long and wide.", "Ester"),
    ]


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


def test_most_real_targets_of_two_hops_give_two_clauses(shared_data):
    world = make_named_world("flashrag", data=str(shared_data), n_targets=60)
    games = [pose(world, target) for target in world.targets if target.hops == 2]
    chained = [game for game in games if game.question and game.question.text.count("Consider") == 1]
    assert len(chained) > len(games) / 2


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
