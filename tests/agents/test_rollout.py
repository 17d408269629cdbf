"""Rollouts are exact in ids: the mask never slips, the game gets what was sampled, a full pass scores it alike."""

import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("transformers", reason="needs the llm extra")

from agents import decode
from agents.decode import Decoder, Row
from agents.rollout import Sampling, SamplingError, roll_out
from agents.scoring import Row as ScoredRow
from agents.scoring import score
from sesa_env.errors import ConfigError, SesaError
from sesa_env.game import GameConfig, SearchGame
from sesa_env.types import Role
from tests.agents.leaning import leaning_policy, toy_games
from tests.agents.toy_policy import toy_policy
from tests.toy import TARGET, toy_world

POLICY = leaning_policy()
SAMPLING = Sampling(turn_tokens=10, tokens=400)
GREEDY = replace(SAMPLING, greedy=True)


def full_pass(policy, ids, temperature=1.0):
    """Log-probability of each id but the first, from one pass over all."""
    with torch.no_grad():
        logits = policy.model(input_ids=torch.tensor([ids])).logits[0, :-1].float() / temperature
    return logits.log_softmax(-1).gather(-1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()


def assert_exact(policy, game, rollout, temperature=1.0):
    """The invariants of one Solver rollout."""
    ids, spans = rollout.ids, rollout.turns
    assert len(rollout.sampled) == len(rollout.logprobs) == len(ids)
    assert [i for i, mark in enumerate(rollout.sampled) if mark] == [i for start, stop in spans for i in range(start, stop)]
    assert tuple(policy.decode(ids[start:stop]) for start, stop in spans) == rollout.texts
    assert game.attempts[-1].texts[: len(spans)] == rollout.texts
    scores = [0.0, *full_pass(policy, ids, temperature)]
    for mark, ours, theirs in zip(rollout.sampled, rollout.logprobs, scores, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4) if mark else ours == 0.0


def assert_scored_alike(policy, rollout, temperature=1.0):
    """The learner's scoring gives the sampler's log-probabilities; not where a hook changes the logits of whole passes."""
    (scored,) = score(policy.network, [ScoredRow.of(rollout.ids, rollout.sampled)], temperature)
    ours = [value for mark, value in zip(rollout.sampled, rollout.logprobs, strict=True) if mark]
    assert scored.tolist() == pytest.approx(ours, abs=1e-4)


@settings(max_examples=25)
@given(
    seeds=st.lists(st.integers(0, 2**63), min_size=1, max_size=9),
    temperature=st.sampled_from([0.5, 1.0, 1.7]),
    turn_tokens=st.integers(1, 14),
    tokens=st.integers(20, 330),
    batch=st.integers(1, 9),
)
def test_rollouts_are_exact(seeds, temperature, turn_tokens, tokens, batch):
    games = toy_games(len(seeds))
    rollouts = roll_out(POLICY, games, Sampling(temperature, False, turn_tokens, tokens, batch), seeds)
    for game, rollout in zip(games, rollouts, strict=True):
        assert game.actor is None
        assert_exact(POLICY, game, rollout, temperature)
        assert max((stop - start for start, stop in rollout.turns), default=0) <= turn_tokens
        assert len(rollout.ids) <= tokens or not rollout.turns
        assert not rollout.cut or game.attempts[0].end == "out_of_turns"


@pytest.mark.parametrize("kind", ["bytes", "bos", "words"])
def test_rollouts_are_exact_with_every_kind_of_tokenizer(kind):
    policy, games = toy_policy(kind), toy_games(5)
    policy.model.config.max_position_embeddings = 4096
    for game, rollout in zip(games, roll_out(policy, games, Sampling(turn_tokens=12, tokens=4096), range(5)), strict=True):
        assert_exact(policy, game, rollout)
        assert_scored_alike(policy, rollout)


def test_the_games_are_played_in_earnest():
    games = toy_games(40)
    rollouts = roll_out(POLICY, games, SAMPLING, range(40))
    events = {turn.event for game in games for turn in game.state.transcript}
    assert {"search", "answer", "malformed"} <= events
    assert max(len(rollout.turns) for rollout in rollouts) > 1
    for game, rollout in zip(games, rollouts, strict=True):
        (first, *_), observed = game.state.transcript, rollout.ids[rollout.turns[0][1] :]
        if len(rollout.turns) > 1:
            answer = POLICY.observation_ids(first.observation)
            assert list(observed[: len(answer)]) == answer
    assert all(rollout.sampled[-1] for rollout in rollouts)  # what ended the part is not followed by anything


@pytest.mark.parametrize("sampling", [SAMPLING, GREEDY], ids=["sampled", "greedy"])
def test_neither_batch_nor_order_changes_a_rollout(sampling):
    together = roll_out(POLICY, toy_games(12), sampling, range(12))
    for batch in (1, 5):
        assert_alike(roll_out(POLICY, toy_games(12), replace(sampling, batch=batch), range(12)), together)
    backwards = roll_out(POLICY, toy_games(12)[::-1], sampling, range(12)[::-1])
    assert_alike(backwards[::-1], together)


def assert_alike(rollouts, others):
    for one, other in zip(rollouts, others, strict=True):
        assert (one.ids, one.sampled, one.turns, one.texts) == (other.ids, other.sampled, other.turns, other.texts)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_row_that_shares_a_prompt_has_draws_of_its_own():
    games = [game for _ in range(6) for game in toy_games(1)]
    rollouts = roll_out(POLICY, games, SAMPLING, range(6))
    assert len({rollout.ids for rollout in rollouts}) > 1
    assert_alike(rollouts, [roll_out(POLICY, toy_games(1), SAMPLING, [seed])[0] for seed in range(6)])


def test_the_same_seed_gives_the_same_bits():
    assert roll_out(POLICY, toy_games(8), SAMPLING, range(8)) == roll_out(POLICY, toy_games(8), SAMPLING, range(8))


def test_small_portions_and_a_cache_that_grows_change_nothing(monkeypatch):
    whole = roll_out(POLICY, toy_games(12), SAMPLING, range(12))
    monkeypatch.setattr(decode, "_PORTION", {"cpu": 40})
    monkeypatch.setattr("agents.cache._STEP", 1)
    assert_alike(roll_out(POLICY, toy_games(12), SAMPLING, range(12)), whole)


def test_an_eager_model_is_sampled_alike():
    eager = leaning_policy()
    eager.model.set_attn_implementation("eager")
    assert_alike(roll_out(eager, toy_games(6), SAMPLING, range(6)), roll_out(POLICY, toy_games(6), SAMPLING, range(6)))


def generated(policy, ids, turn_tokens):
    """The next turn from `generate`, token for token, called anew; it stops where the policy stops."""
    ends = [index for index in range(len(policy.tokenizer)) if policy.stops.ends([index])]
    with torch.no_grad():
        made = policy.model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=turn_tokens,
            do_sample=False,
            eos_token_id=ends,
            pad_token_id=0,
        )
    return made[0, len(ids) :].tolist()


def test_greedy_turns_are_those_of_generate():
    games = toy_games(7)
    rollouts = roll_out(POLICY, games, GREEDY, range(7))
    for rollout in rollouts:
        for start, stop in rollout.turns:
            assert generated(POLICY, list(rollout.ids[:start]), GREEDY.turn_tokens) == list(rollout.ids[start:stop])
    assert any(len(rollout.turns) > 1 for rollout in rollouts)


def test_only_new_ids_are_read(monkeypatch):
    passes = []
    real = Decoder._pass

    def counted(self, ids, *rest):
        passes.append(ids.shape[1])
        return real(self, ids, *rest)

    monkeypatch.setattr(Decoder, "_pass", counted)
    (rollout,) = roll_out(POLICY, toy_games(1, max_strikes=4), Sampling(turn_tokens=3, tokens=400), [3])
    assert len(rollout.turns) > 1
    # The last id of the last turn is read by nobody, and no other is read twice.
    assert sum(passes) == len(rollout.ids) - 1


def test_rows_that_have_ended_their_turn_leave_the_pass(monkeypatch):
    sizes = []
    real = Decoder._pass

    def counted(self, ids, *rest):
        sizes.append(len(ids))
        return real(self, ids, *rest)

    monkeypatch.setattr(Decoder, "_pass", counted)
    decoder = Decoder(POLICY, Sampling(turn_tokens=10, tokens=400))
    rows = [Row(POLICY.prompt_ids(game.view()), index) for index, game in enumerate(toy_games(12))]
    decoder.sample_turns(rows)
    lengths = [stop - start for row in rows for start, stop in row.spans]
    assert len(set(lengths)) > 1
    assert sizes[-max(lengths) + 1 :] == [sum(length > step for length in lengths) for step in range(1, max(lengths))]


def test_a_turn_that_is_cut_off_ends_the_part():
    (game,) = toy_games(1)
    prompt = len(POLICY.prompt_ids(game.view()))
    (rollout,) = roll_out(POLICY, [game], Sampling(turn_tokens=10, tokens=prompt + 1), [0])
    assert rollout.cut
    assert len(rollout.ids) == prompt + 1
    assert game.attempts[0].end == "out_of_turns"
    assert game.attempts[0].texts == rollout.texts != ()


@pytest.mark.parametrize("room", [0, -5])
def test_a_prompt_that_leaves_no_room_is_cut_off(room):
    (game,) = toy_games(1)
    prompt = POLICY.prompt_ids(game.view())
    (rollout,) = roll_out(POLICY, [game], Sampling(tokens=len(prompt) + room), [0])
    assert (list(rollout.ids), rollout.turns, rollout.texts, rollout.cut) == (prompt, (), (), True)
    assert (game.attempts[0].end, game.attempts[0].texts) == ("out_of_turns", ("",))


def test_an_answer_of_the_game_that_leaves_no_room_ends_the_part():
    seed = next(s for s in range(99) if len(roll_out(POLICY, toy_games(1), SAMPLING, [s])[0].turns) > 1)
    (free,) = roll_out(POLICY, toy_games(1), SAMPLING, [seed])
    start, stop = free.turns[0][1], free.turns[1][0]
    for tokens, turns in ((stop, 1), (stop + 1, 2)):
        (game,) = toy_games(1)
        (rollout,) = roll_out(POLICY, [game], replace(SAMPLING, tokens=tokens), [seed])
        assert len(rollout.turns) == turns
        assert rollout.ids == free.ids[: start if turns == 1 else tokens]
        assert rollout.cut
        assert game.actor is None


def test_a_prompt_beyond_its_budget_is_not_played():
    (long,), (short,) = toy_games(2)[1:], toy_games(2)[:1]
    prompt = POLICY.prompt_ids(long.view())
    assert len(prompt) > len(POLICY.prompt_ids(short.view()))
    cut, played = roll_out(POLICY, [long, short], replace(SAMPLING, prompt_tokens=len(prompt) - 1), [0, 1])
    assert (list(cut.ids), cut.turns, cut.texts, cut.cut) == (prompt, (), (), True)
    assert (long.attempts[0].end, long.attempts[0].texts) == ("out_of_turns", ("",))
    # What fits is played as it is without the budget, and a prompt of just that length fits.
    assert played == roll_out(POLICY, toy_games(1), SAMPLING, [1])[0]
    assert roll_out(POLICY, toy_games(2)[1:], replace(SAMPLING, prompt_tokens=len(prompt)), [0])[0].turns


def test_the_response_budget_counts_turns_and_the_games_answers():
    seed = next(s for s in range(99) if len(roll_out(POLICY, toy_games(1), SAMPLING, [s])[0].turns) > 1)
    (free,) = roll_out(POLICY, toy_games(1), SAMPLING, [seed])
    prompt, first, second = free.turns[0][0], free.turns[0][1], free.turns[1][0]
    # In the midst of the first turn; where the game's answer leaves no room; one id into the second turn.
    for response, kept, turns in ((1, prompt + 1, 1), (second - prompt, first, 1), (second + 1 - prompt, second + 1, 2)):
        (game,) = toy_games(1)
        (rollout,) = roll_out(POLICY, [game], replace(SAMPLING, response_tokens=response), [seed])
        assert (rollout.ids, len(rollout.turns), rollout.cut) == (free.ids[:kept], turns, True)
        assert game.attempts[0].end == "out_of_turns"
    assert roll_out(POLICY, toy_games(1), replace(SAMPLING, response_tokens=len(free.ids)), [seed]) == [free]


def test_what_was_played_before_counts_towards_the_response():
    (game,) = toy_games(1)
    prompt = len(POLICY.prompt_ids(game.view()))
    game.act("<search> author </search>")
    (free,) = roll_out(POLICY, [game], SAMPLING, [5])
    begun = free.turns[0][0] - prompt
    assert begun > 0
    for budget, turns in ((begun, 0), (begun + 1, 1)):
        (game,) = toy_games(1)
        game.act("<search> author </search>")
        (rollout,) = roll_out(POLICY, [game], replace(SAMPLING, prompt_tokens=prompt, response_tokens=budget), [5])
        assert (len(rollout.turns), rollout.cut) == (turns, True)
        assert len(rollout.ids) == prompt + budget


def test_the_model_bounds_the_ids_too():
    policy = leaning_policy()
    policy.model.config.max_position_embeddings = 90
    rollouts = roll_out(policy, toy_games(6), SAMPLING, range(6))
    assert max(len(rollout.ids) for rollout in rollouts if rollout.turns) <= 90
    assert any(rollout.cut for rollout in rollouts)


def test_one_attempt_of_a_group_is_one_rollout():
    (game,) = toy_games(1, group_size=3)
    for attempt in range(3):
        assert len(game.attempts) == attempt
        (rollout,) = roll_out(POLICY, [game], SAMPLING, [attempt])
        assert_exact(POLICY, game, rollout)
    assert game.actor is None


def test_the_challenger_plays_its_own_part_only():
    game = SearchGame(toy_world(), GameConfig(challenger_max_turns=3))
    game.reset(TARGET)
    (rollout,) = roll_out(POLICY, [game], SAMPLING, [0])
    assert game.actor is None  # a random policy poses nothing valid
    assert {turn.actor for turn in game.state.transcript} == {Role.CHALLENGER}
    assert tuple(turn.text for turn in game.state.transcript) == rollout.texts


def test_a_part_that_has_begun_is_gone_on_with():
    (game,) = toy_games(1)
    game.act("<search> author </search>")
    (rollout,) = roll_out(POLICY, [game], SAMPLING, [5])
    assert game.attempts[0].texts[1:] == rollout.texts
    prompt = POLICY.prompt_ids(toy_games(1)[0].view())
    assert list(rollout.ids[: len(prompt)]) == prompt
    assert not any(rollout.sampled[: rollout.turns[0][0]])


def test_searches_of_a_turn_share_one_call_of_the_retriever():
    games = toy_games(30)
    roll_out(POLICY, games, SAMPLING, range(30))
    calls = games[0].world.retriever.calls
    assert len(calls) <= 4
    assert max(map(len, calls)) > 3


def test_dropout_is_off_while_sampling_and_the_mode_is_kept():
    policy = leaning_policy()
    policy.model.config.attention_dropout = 0.9
    policy.model.train()
    assert_alike(roll_out(policy, toy_games(3), SAMPLING, range(3)), roll_out(POLICY, toy_games(3), SAMPLING, range(3)))
    assert policy.model.training


def test_broken_weights_are_told():
    policy = leaning_policy()
    with torch.no_grad():
        policy.model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(SamplingError, match="toy: expected finite logits; got NaN") as caught:
        roll_out(policy, toy_games(2), SAMPLING, range(2))
    assert caught.value.model is policy.model
    assert isinstance(caught.value, SesaError)
    again = pickle.loads(pickle.dumps(caught.value))  # as it leaves a worker process, without the weights
    assert (type(again), str(again), again.model) == (SamplingError, str(caught.value), None)


def test_wrong_use_is_told():
    with pytest.raises(ConfigError, match="seeds: expected one for each of 2 games; got 1"):
        roll_out(POLICY, toy_games(2), SAMPLING, [0])
    with pytest.raises(ConfigError, match="temperature: expected a number above 0; got 0"):
        Sampling(temperature=0)
    with pytest.raises(ConfigError, match="turn_tokens: expected a whole number of at least 1; got 0"):
        Sampling(turn_tokens=0)
    for name in ("prompt_tokens", "response_tokens"):
        with pytest.raises(ConfigError, match=f"{name}: expected a whole number of at least 1, or None"):
            Sampling(**{name: 0})
        with pytest.raises(ConfigError, match=f"{name}: expected"):
            Sampling(**{name: 1.5})
    sliding = leaning_policy()
    sliding.model.config.layer_types = ["sliding_attention", "full_attention"]
    sliding.model.config.sliding_window = 16
    with pytest.raises(ConfigError, match="a window of 16 ids; take another model, or at most 16 tokens"):
        roll_out(sliding, toy_games(1), SAMPLING, [0])
