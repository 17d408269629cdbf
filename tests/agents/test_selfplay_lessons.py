"""What a step teaches: rewards of both seats, groups, void rollouts, duplicates, the carry-over term, the judge."""

from collections import Counter
from dataclasses import replace

import pytest

pytest.importorskip("torch")

from agents.demonstrations import QUICK_WORLD
from agents.judge import Judgement
from agents.objective import advantages
from agents.rollout import Rollout, Sampling
from agents.selfplay.compositions import is_composed_apart
from agents.selfplay.config import QuestionConfig, RoleConfig, RunConfig, SkillConfig
from agents.selfplay.families import kind_of
from agents.selfplay.held_out import HELD_OUT, is_held_out, mark_held_out
from agents.selfplay.judging import judged
from agents.selfplay.lessons import carry_over_samples, challenger_rewards, challenger_samples, solver_samples
from agents.selfplay.pool import Posed, ReplayPool
from agents.selfplay.posing import (
    DUPLICATE,
    Proposal,
    ReadyQuestions,
    Recent,
    Slot,
    draw_targets,
    mark_duplicates,
    slots_of,
    until_full,
)
from agents.selfplay.presets import configure
from agents.selfplay.row import posing_row, solving_row
from agents.selfplay.solving import Solved, solve
from sesa_env.corpus.miniwiki import BENCHMARKS
from sesa_env.corpus.miniwiki.forms import Chain, Step
from sesa_env.errors import ConfigError
from sesa_env.game import GameConfig, SearchGame
from sesa_env.memory.base import CardHit
from sesa_env.players.turns import question_turn, search_turn
from sesa_env.types import Attempt, Question, Target
from sesa_env.worlds import make_world
from tests.agents.toy_policy import toy_policy
from tests.toy import QUESTION, card, toy_world


def rollout(turns=1):
    spans = tuple((number + 1, number + 2) for number in range(turns))
    return Rollout(tuple(range(turns + 1)), (False, *(True,) * turns), (0.0, *(-1.0,) * turns), spans, ("x",) * turns)


def posed(text, **fields):
    return Posed(Question(text, text, ("Corin",), **fields))


def proposal(text="", hops=1, earned=0.0, reason="", failed=0):
    return Proposal(Target("t", "Corin", hops), rollout(), posed(text) if text else None, reason, earned, 1, failed)


def attempt(correct=False, failed=0, malformed=False):
    return Attempt("Jory", correct=correct, malformed=malformed, failed_searches=failed)


def solved(slot, *attempts):
    return Solved(slot, tuple(rollout() for _ in attempts), attempts, tuple(float(one.correct) for one in attempts))


def config(**questions):
    return RunConfig(questions=QuestionConfig(**questions))


def played(proposals, *attempts):
    return [
        solved(Slot(item.posed, place), *attempts)
        for place, item in enumerate(proposals)
        if item.posed is not None and not item.reason
    ]


def test_valid_invalid_duplicate_and_untold_questions_each_have_their_reward():
    proposals = [
        proposal("a"),
        proposal(earned=-0.3, reason="words"),
        proposal("b", reason=DUPLICATE, earned=-0.1),
        proposal("c", failed=1),
        proposal("d"),
    ]
    answers = played(proposals, attempt(True), attempt())
    void = solved(Slot(proposals[4].posed, 4), attempt(failed=1), attempt(failed=1))
    rewards = challenger_rewards(toy_world(), proposals, [*answers[:-1], void], config(duplicate_reward=-0.2))
    assert rewards == [1.0, -0.3, pytest.approx(-0.3), None, None]
    samples = challenger_samples(proposals, rewards, config())
    assert [sample.reward for sample in samples] == rewards[:3]


def test_void_attempts_take_no_part_in_the_solve_rate_or_the_loss():
    proposals = [proposal("a")]
    answers = [solved(Slot(proposals[0].posed, 0), attempt(True), attempt(failed=1), attempt(True), attempt())]
    assert answers[0].solve_rate == pytest.approx(2 / 3)
    assert len(answers[0].group.attempts) == 3
    assert [sample.reward for sample in solver_samples(answers)] == [1.0, 1.0, 0.0]
    assert challenger_rewards(toy_world(), proposals, answers, config()) == [pytest.approx(4 * 2 / 9)]


def test_repetition_costs_in_proportion():
    proposals = [proposal("a"), proposal("b"), proposal(reason="words")]
    rewards = challenger_rewards(
        toy_world(), proposals, played(proposals, attempt(True), attempt()), config(repetition_penalty=0.5)
    )
    # Both valid ones are of the family "1 hops": each repeats one of two others.
    assert rewards == [0.75, 0.75, 0.0]


def test_repetition_is_of_kinds_or_of_wordings():
    world = make_world("miniwiki", seed=1000, **QUICK_WORLD)
    found = {}
    for one in world.graph.questions(200, split="train", families={"single": 1.0}):
        found.setdefault(kind_of(world, one), []).append(replace(one, text=one.text.lower()))
    proposals = [replace(proposal("a"), posed=Posed(one)) for one in max(found.values(), key=len)[:3]]
    answers = played(proposals, attempt(True), attempt())
    rewards = {
        how: challenger_rewards(world, proposals, answers, config(repetition_penalty=0.5, repetition=how))
        for how in ("kind", "wording")
    }
    assert rewards == {"kind": [0.5] * 3, "wording": [1.0] * 3}
    assert posing_row(world, proposals, [], [])["effective_kinds"] == pytest.approx(1.0)


@pytest.mark.parametrize(("right", "shaped"), [(0, -0.1), (1, 1.0), (2, -0.1)])
def test_few_valid_questions_of_one_family_earn_more_than_invalid_ones(right, shaped):
    settings = configure("quick")
    invalid = settings.rules.reward.invalid
    proposals = [proposal("a"), proposal("b"), *(proposal(reason="words", earned=invalid) for _ in range(14))]
    answers = played(proposals, attempt(right > 0), attempt(right > 1))
    rewards = challenger_rewards(toy_world(), proposals, answers, settings)
    assert rewards[:2] == [pytest.approx(shaped - 1 / 15)] * 2
    assert min(rewards[:2]) > invalid == rewards[2]


def test_the_penalty_takes_no_valid_question_below_an_invalid_one():
    proposals = [proposal(name) for name in "abcd"]
    unsolved = played(proposals, attempt(), attempt())
    assert challenger_rewards(toy_world(), proposals, unsolved, configure("quick")) == [-0.3] * 4
    # At an invalid question's 0 the bell's own -0.1 stays.
    assert challenger_rewards(toy_world(), proposals, unsolved, config(repetition_penalty=1.0)) == [-0.1] * 4


@pytest.mark.parametrize(
    ("questions", "expected"),
    [
        ({"baseline": "batch"}, [-0.5, -0.25, 0.25, 0.5]),
        ({"baseline": "hops"}, [-0.375, -0.375, 0.375, 0.375]),
        ({"baseline": "target", "per_target": 2}, [-0.125, 0.125, -0.125, 0.125]),
        ({"baseline": "target", "per_target": 4}, [-0.5, -0.25, 0.25, 0.5]),
    ],
)
def test_the_baseline_of_the_questions_is_the_learners(questions, expected):
    """REINFORCE by itself subtracts the batch's mean, whatever the groups."""
    settings = configure("quick", settings=[{"questions": questions}])
    proposals = [proposal(name, hops) for name, hops in zip("abcd", (1, 3, 1, 3), strict=True)]
    samples = challenger_samples(proposals, [0.0, 0.25, 0.75, 1.0], settings)
    kinds = settings.challenger.learner.recipe
    found = advantages(
        [sample.reward for sample in samples],
        [sample.group for sample in samples],
        [True] * 4,
        baseline=kinds[0],
        scale=kinds[1],
    )
    assert list(found) == expected


@pytest.mark.parametrize(("baseline", "groups"), [("batch", [0, 0, 0, 0]), ("hops", [1, 3, 1, 2]), ("target", [0, 0, 1, 1])])
def test_what_a_challengers_reward_is_compared_with(baseline, groups):
    proposals = [proposal("a", hops) for hops in (1, 3, 1, 2)]
    found = challenger_samples(proposals, [1.0] * 4, config(baseline=baseline, per_target=2))
    assert [sample.group for sample in found] == groups


def test_duplicates_are_known_within_the_batch_and_for_some_steps():
    recent = Recent(2)
    first = mark_duplicates([proposal("a"), proposal("a"), proposal(reason="words")], recent.known())
    assert [item.reason for item in first] == ["", DUPLICATE, "words"]
    recent.add(first)
    assert mark_duplicates([proposal("a")], recent.known())[0].reason == DUPLICATE
    recent.add([])
    assert recent.known()
    recent.add([])
    assert not recent.known()
    assert not Recent(0).known()


def test_a_batch_is_filled_with_each_new_question_once_and_with_replayed_ones():
    pool = ReplayPool()
    pool.make_room(1)
    pool.add([posed("old")])
    proposals = [
        proposal("a"),
        proposal("a", reason=DUPLICATE),
        proposal(reason="words"),
        proposal("b"),
        proposal(reason="words"),
    ]
    slots = slots_of(proposals, pool, config(per_update=5), 0)
    assert [slot.posed.question.text for slot in slots[:3]] == ["a", "b", "old"]
    assert [slot.proposal for slot in slots] == [0, 3, None, None, None]
    assert {slot.posed.question.text for slot in slots} <= {"a", "b", "old"}
    assert [item.question.text for item in pool.items] == ["old", "a", "b"]


def test_the_challenger_proposes_until_the_batch_is_full():
    two = config(per_update=2, proposals=3)
    proposals = [proposal("a"), proposal(reason="words"), proposal("b"), proposal(reason="words"), proposal("c")]
    assert two.questions.at_most == 6
    assert until_full(proposals, two.questions) == proposals[:3]
    assert until_full(proposals, config(per_update=4).questions) == proposals
    slots = slots_of(until_full(proposals, two.questions), ReplayPool(), two, 0)
    assert [slot.proposal for slot in slots] == [0, 2]


def test_a_group_of_one_target_is_kept_whole_and_what_it_has_too_much_is_not_played():
    four = config(per_update=4, proposals=2, per_target=4, baseline="target")
    proposals = [proposal(letter) for letter in "abc"] + [proposal(reason="words")] + [proposal(letter) for letter in "defgh"]
    kept = until_full(proposals, four.questions)
    assert kept == proposals[:8]
    assert [slot.proposal for slot in slots_of(kept, ReplayPool(), four, 0)] == [0, 1, 2, 4]


def test_targets_are_drawn_by_their_hops():
    world = make_world("miniwiki", seed=1000, size=600, n_questions=0, n_targets=30)
    drawn = draw_targets(world, config(hops=(3, 2, 1)), 0, 60)
    assert Counter(target.hops for target in drawn) == {1: 30, 2: 20, 3: 10}
    assert {target.hops for target in draw_targets(world, config(hops=(0, 1)), 0, 25)} == {2}
    with pytest.raises(ConfigError, match="none of them of hops"):
        draw_targets(world, config(hops=(0, 0, 0, 1)), 0, 1)
    with pytest.raises(ConfigError, match="weights of 0 or more"):
        config(hops=(0, 0))


def test_after_a_reset_older_questions_stand_in_until_there_is_a_new_one():
    pool = ReplayPool(reset_every=1)
    pool.add([posed("old")])
    pool.begin(5)
    slots = slots_of([proposal(reason="words")] * 3, pool, config(per_update=3), 5)
    assert [slot.posed.question.text for slot in slots] == ["old"] * 3
    pool.begin(6)
    slots = slots_of([proposal("a"), proposal(reason="words")], pool, config(per_update=2), 6)
    assert [slot.posed.question.text for slot in slots] == ["a", "a"]


def test_ready_questions_stand_in_before_the_first_valid_one():
    world = make_world("miniwiki", seed=1000, size=600, n_questions=0)
    ready = ReadyQuestions(world, config())
    slots = slots_of([proposal(reason="words")] * 4, ReplayPool(), config(per_update=4), 0, ready)
    assert len(slots) == 4
    assert all(slot.ready and slot.proposal is None and slot.posed.evidence for slot in slots)
    assert not any(is_held_out(world, slot.posed.question) for slot in slots)
    again = slots_of([proposal(reason="words")] * 4, ReplayPool(), config(per_update=4), 1, ready)
    assert {slot.posed.question.text for slot in slots}.isdisjoint(slot.posed.question.text for slot in again)
    pool = ReplayPool()
    pool.add([posed("old")])
    assert [slot.ready for slot in slots_of([proposal(reason="words")], pool, config(per_update=1), 2, ready)] == [False]


def test_the_oracles_stream_is_balanced_over_the_seven_benchmarks_in_their_wordings():
    world = make_world("miniwiki", seed=1000, size=1000, n_questions=0)
    ready = ReadyQuestions(world, configure("quick", "oracle"))
    asked = [slot.posed.question for step in range(7) for slot in ready.take(step, 3)]
    assert Counter(question.source for question in asked) == {f"miniwiki/{name}": 3 for name in BENCHMARKS}
    assert not any(is_held_out(world, question) for question in asked)
    own = ReadyQuestions(world, configure("quick", "oracle", settings=[{"questions": {"families": {"single": 1.0}}}]))
    assert {slot.posed.question.family for slot in own.take(0, 5)} == {"single"}


def test_skillrls_set_is_finite_and_narrower():
    world = make_world("miniwiki", seed=1000, size=1000, n_questions=0)
    ready = ReadyQuestions(world, configure("quick", "skillrl", settings=[{"questions": {"fixed": 10}}]))
    asked = {slot.posed.question for step in range(4) for slot in ready.take(step, 10)}
    assert len(asked) == 10
    assert {question.family for question in asked} == {"single", "bridge"}


def test_a_question_about_the_test_half_is_refused_and_earns_what_an_invalid_one_does():
    settings = configure("small", seed=0, settings=[{"world_options": {"relations": 40, "zipf": 0.7}}])
    world = make_world(settings.world, **settings.world_options)
    target = next(one for one in world.targets if one.answer == "1833" and one.hops == 1)
    graph = world.graph
    year = next(one for one in graph.schema.relations if "founding year" in one.nouns)
    text = graph.ask(Chain(graph._find("Vubeck Seminary"), (Step(year),)), 1)
    game = SearchGame(world, settings.rules)
    game.reset(target, seed=1, noise=())
    game.act(search_turn("Vubeck Seminary founding year"))
    game.act(question_turn(text))
    assert game.question is not None, game.state.reject_reason
    assert (graph.half_of("Vubeck Seminary"), graph.half_of("1833")) == ("test", None)
    own = graph.questions(1, split="train")[0]
    proposals = [Proposal(target, rollout(), Posed(game.question), "", -0.1), Proposal(target, rollout(), Posed(own), "", 0.0)]
    first, second = mark_held_out(world, settings, proposals)
    assert (first.posed, first.reason, first.earned) == (None, HELD_OUT, pytest.approx(-0.4))
    assert second == proposals[1]
    assert challenger_rewards(toy_world(), [first, second], [], settings) == [pytest.approx(-0.4), None]
    assert posing_row(toy_world(), [first, second], [], [])["rejected"][HELD_OUT] == 1


def test_a_share_of_the_compositions_is_held_out_the_same_in_every_run_of_a_world():
    world = make_world("miniwiki", seed=1000, size=1000, n_questions=0)
    asked = [question for name in BENCHMARKS for question in world.graph.benchmark(name, 100)]
    chains = {question.text: tuple(need.rank for need in world.graph.needs(question.text)) for question in asked}
    apart = {text for text in chains if is_composed_apart(world, text, 0.3)}
    assert not any(is_composed_apart(world, text, 0.0) for text in chains)
    assert all(len(chains[text]) > 1 for text in apart)
    assert {chains[text] for text in apart}.isdisjoint(chains[text] for text in chains.keys() - apart)
    compositions = {chain for chain in chains.values() if len(chain) > 1}
    assert 0.2 < len({chains[text] for text in apart}) / len(compositions) < 0.4
    assert apart <= {text for text in chains if is_composed_apart(world, text, 0.5)}


@pytest.mark.parametrize("arm", ["oracle", "skillrl"])
def test_ready_questions_are_of_no_composition_held_out(arm):
    settings = configure("quick", arm, settings=[{"questions": {"held_out_compositions": 0.5, "fixed": 40}}])
    world = make_world("miniwiki", seed=1000, size=1000, n_questions=0)
    asked = [slot.posed.question for step in range(7) for slot in ReadyQuestions(world, settings).take(step, 20)]
    assert len(asked) == 140
    assert any(question.hops > 1 for question in asked)
    assert not any(is_composed_apart(world, question.text, 0.5) for question in asked)


def test_a_question_of_a_composition_held_out_is_refused():
    world = make_world("miniwiki", seed=1000, size=1000, n_questions=0)
    settings = config(held_out_compositions=0.5)
    drawn = world.graph.questions(40, split="train", families={"bridge": 1.0})
    proposals = [Proposal(Target("t", "Corin", 2), rollout(), Posed(question), "", 0.0) for question in drawn]
    marked = mark_held_out(world, settings, proposals)
    apart = [is_composed_apart(world, question.text, 0.5) for question in drawn]
    assert [item.reason == HELD_OUT for item in marked] == apart
    assert 0 < sum(apart) < len(apart)
    assert mark_held_out(world, config(), proposals) == proposals


def test_without_refill_or_without_anything_valid_the_batch_is_short():
    proposals = [proposal("a"), proposal(reason="words")]
    assert len(slots_of(proposals, ReplayPool(), config(refill=False), 0)) == 1
    assert slots_of([proposal(reason="words")], ReplayPool(), config(), 0) == []


# ---- the carry-over term ---------------------------------------------------------------------------------------------


CARRIED = RunConfig(
    seed=1,  # whose draws withhold cards from right and wrong rollouts of both groups
    rules=GameConfig(group_size=6, max_turns=3),
    solver=RoleConfig(sampling=Sampling(turn_tokens=12, tokens=4096)),
    skills=SkillConfig(carry_over=0.5, card_dropout=0.5),
)


@pytest.fixture(scope="module")
def carried():
    """World, policy and two groups as `solve` plays them, some rollouts without their cards; right are those of even places."""
    world, policy = toy_world(), toy_policy()
    policy.model.config.max_position_embeddings = 4096
    longer = replace(QUESTION, id="q1", text="Of all the people in the register, who is the spouse of Alda Wern?")
    slots = [Slot(Posed(question)) for question in (QUESTION, longer)]
    cards = [[CardHit(card(), 0.9)], [CardHit(card("c1", description="Ask in few words, and name nobody else."), 0.8)]]
    played = solve(world, CARRIED, policy, slots, cards, 0)
    return world, policy, [graded(item) for item in played]


def graded(item):
    attempts = tuple(replace(one, correct=place % 2 == 0) for place, one in enumerate(item.attempts))
    return replace(item, attempts=attempts, rewards=tuple(1.0 - place / 10 for place in range(len(attempts))))


def right_with_cards(played):
    """Where the term applies: (group, place)."""
    attempts = [(group, place, one) for group, item in enumerate(played) for place, one in enumerate(item.attempts)]
    return [(group, place) for group, place, one in attempts if one.correct and one.cards]


def sampled_ids(rollout):
    return [token for token, mark in zip(rollout.ids, rollout.sampled, strict=True) if mark]


def test_a_right_rollout_with_cards_is_scored_again_behind_the_prompt_without_them(carried):
    world, policy, played = carried
    places = right_with_cards(played)
    samples = carry_over_samples(world, CARRIED, policy, played)
    assert len(samples) == len(places) > 2
    assert {group for group, _ in places} == {0, 1}
    for (group, place), sample in zip(places, samples, strict=True):
        item, again, was = played[group], sample.rollout, played[group].rollouts[place]
        # What a rollout of the same question begins with that was not shown its cards.
        bare = next(one for one, attempt in zip(item.rollouts, item.attempts, strict=True) if not attempt.cards)
        prompt, shown = bare.ids[: bare.turns[0][0]], was.ids[: was.turns[0][0]]
        assert "<skills>" in policy.decode(shown)
        assert "<skills>" not in policy.decode(prompt)
        assert len(prompt) < len(shown)
        assert again.ids == prompt + was.ids[len(shown) :]
        assert again.sampled == (False,) * len(prompt) + was.sampled[len(shown) :]
        assert sampled_ids(again) == sampled_ids(was)
        assert tuple(policy.decode(again.ids[start:stop]) for start, stop in again.turns) == again.texts == was.texts
        assert again.logprobs is None
        assert (sample.group, sample.reward, sample.weight) == (group, item.rewards[place], 0.5)
    assert max(len(sample.rollout.turns) for sample in samples) > 1


def test_wrong_rollouts_those_without_cards_and_void_ones_are_not_carried_over(carried):
    world, policy, played = carried
    places = right_with_cards(played)
    attempts = [one for item in played for one in item.attempts]
    assert any(one.correct and not one.cards for one in attempts)
    assert any(one.cards and not one.correct for one in attempts)
    (group, failed), (_, unjudged) = places[0], next(place for place in places[1:] if place[0] == places[0][0])
    item = played[group]
    broken = tuple(replace(one, failed_searches=int(place == failed)) for place, one in enumerate(item.attempts))
    void = [*played[:group], replace(item, attempts=broken, unjudged=frozenset({unjudged})), *played[group + 1 :]]
    kept = [place for place in places if place not in ((group, failed), (group, unjudged))]
    rewards = [(sample.group, sample.reward) for sample in carry_over_samples(world, CARRIED, policy, void)]
    assert rewards == [(where, played[where].rewards[place]) for where, place in kept]


def test_without_the_term_nothing_is_carried_over(carried):
    world, policy, played = carried
    off = replace(CARRIED, skills=replace(CARRIED.skills, carry_over=0.0))
    assert carry_over_samples(world, off, policy, played) == []


class OneJudge:
    def __init__(self, *verdicts):
        self.verdicts = list(verdicts)
        self.cases = []
        self.reasons = ["said before"]

    def judge(self, cases):
        self.cases = list(cases)
        self.reasons += ["no answer in time"] * self.verdicts.count(Judgement.NOT_JUDGED)
        return self.verdicts


def test_a_judge_turns_misses_into_hits_and_what_is_not_judged_is_void(caplog):
    item = solved(Slot(posed("a"), 0), attempt(True), attempt(), attempt(), attempt(), attempt(malformed=True))
    judge = OneJudge(Judgement.RIGHT, Judgement.WRONG, Judgement.NOT_JUDGED)
    found = judged([item], judge)[0]
    assert judge.cases == [("a", ("Corin",), "Jory")] * 3
    assert [one.correct for one in found.attempts] == [True, True, False, False, False]
    assert found.rewards == (1.0, 1.0, 0.0, 0.0, 0.0)
    assert found.counted == [0, 1, 2, 4]
    row = solving_row([found], config())
    assert (row["unjudged"], row["void"]) == (1, 1)
    assert "1 answers could not be judged and count for nothing: no answer in time" in caplog.text
    assert "said before" not in caplog.text
    assert found.solve_rate == 0.5
    assert judged([item], None) == [item]
