"""The conformance suite: what any text environment for search agents must hold, one function each, shipped to users.

`gymnasium.utils.env_checker.check_env` looks at one step. These play whole episodes, with well-formed, malformed and hostile
text, and compare two instances turn by turn.
"""

import copy
import json
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np

from sesa_env.errors import ConfigError, SesaError

EnvFactory = Callable[[], gymnasium.Env[Any, Any]]
Step = tuple[Any, float, bool, bool, dict[str, Any]]

HOSTILE_TEXTS = (
    "",
    " \n\t ",
    "no tags at all",
    "<search>",
    "</search>",
    "<search></search>",
    "<search>a</search><search>b</search>",
    "<answer>a<search>b</answer></search>",
    "<information>fake</information><answer>a</answer>",
    "<think>" * 50,
    "<answer>\x00\x1b[31m\u202e</answer>",
    "<answer>\ud800</answer>",
    "<search>🦆 名前 ü</search>",
    "<search>" + "x" * 100_000 + "</search>",
)
"""Texts that a policy may write and that an environment must survive."""

WELL_FORMED = (
    "<search>who</search>",
    "<think>hm</think><search>the first one</search>",
    "<search>name</search>",
    "<answer>yes</answer>",
    "<question>Which of the two was founded earlier, the one in the north or the other?</question>",
)

_MAX_STEPS = 1_000  # an episode that lasts longer is taken to be endless


class CheckError(SesaError):
    """An environment broke a rule of the conformance suite."""


def check_env(make: EnvFactory, seed: int = 0) -> list[str]:
    """Runs every check of this module on an environment whose actions are texts.

    Args:
        make: makes a fresh instance; called several times.
        seed: of the scripts that are played.

    Returns:
        The names of the checks that passed, all of them.

    Raises:
        CheckError: the first check that failed, with what was expected and what came.
        ConfigError: `make` makes no Gymnasium environment, or one whose actions are no texts.
    """
    for name, failure in run_checks(make, seed):
        if failure is not None:
            raise CheckError(f"{name}: {failure}") from failure
    return list(CHECKS)


def run_checks(make: EnvFactory, seed: int = 0) -> Iterator[tuple[str, CheckError | None]]:
    """Runs every check, whatever the others found; arguments as `check_env`.

    Yields:
        The name of each check, and what it failed with: a `CheckError`, caused by what the environment itself raised, if
        anything; None if it passed.

    Raises:
        ConfigError: as `check_env`.
    """
    _require_texts(make())
    for name, check in CHECKS.items():
        try:
            check(make, seed)
        except CheckError as error:
            yield name, error
        except Exception as error:  # an environment may raise anything, and that it raised is what the check has found
            failure = CheckError(
                f"expected no text, seed or call to raise; the environment raised {type(error).__name__}: {error}"
            )
            failure.__cause__ = error
            yield name, failure
        else:
            yield name, None


def _require_texts(env: Any) -> None:
    if not isinstance(env, gymnasium.Env):
        raise ConfigError(f"expected a class or function that makes a gymnasium.Env; it made a {type(env).__name__}")
    space = env.action_space
    refused = next((text for text in WELL_FORMED if text not in space), None)
    if refused is not None:
        raise ConfigError(
            f"expected an environment whose actions are texts, {refused!r} among them; its action space is {space}; "
            "sesa_env.spaces.Utf8() admits every text"
        )


def _script(seed: int) -> Iterator[str]:
    """An endless script: hostile and well-formed texts in random order, from a generator of its own."""
    generator = np.random.default_rng(seed)
    while True:
        texts = HOSTILE_TEXTS if generator.random() < 0.3 else WELL_FORMED
        yield texts[int(generator.integers(len(texts)))]


def _play(env: gymnasium.Env[Any, Any], seed: int, script_seed: int) -> list[Step]:
    """Plays one episode of the script; the first entry is the reset."""
    observation, info = env.reset(seed=seed)
    steps: list[Step] = [(observation, 0.0, False, False, info)]
    for text, _ in zip(_script(script_seed), range(_MAX_STEPS), strict=False):
        step = env.step(text)
        steps.append((step[0], float(step[1]), step[2], step[3], step[4]))
        if step[2] or step[3]:
            return steps
    raise CheckError(f"expected an episode to end within {_MAX_STEPS} steps; it did not")


def _expect(holds: bool, message: str) -> None:
    if not holds:
        raise CheckError(message)


def check_same_seed_same_episode(make: EnvFactory, seed: int) -> None:
    """The same seed and texts give the same episode, in two instances and twice in one."""
    one, other = make(), make()
    for script in range(seed, seed + 5):
        first = _play(one, script, script)
        _expect(first == _play(other, script, script), f"seed {script}: expected two instances to agree; they differ")
        _expect(first == _play(one, script, script), f"seed {script}: expected a second reset to agree; it differs")


def check_types(make: EnvFactory, seed: int) -> None:
    """Observations lie in their space; rewards are finite; ends are plain bools; infos are JSON."""
    env = make()
    for script in range(seed, seed + 5):
        observation, info = env.reset(seed=script)
        _expect(observation in env.observation_space, f"reset: {observation!r} is not in {env.observation_space}")
        json.dumps(info)
        for text in _script(script):
            observation, reward, terminated, truncated, info = env.step(text)
            _expect(observation in env.observation_space, f"step: {observation!r} is not in {env.observation_space}")
            _expect(bool(np.isfinite(float(reward))), f"step: expected a finite reward; got {reward}")
            kinds = (type(terminated), type(truncated))
            _expect(kinds == (bool, bool), f"step: expected terminated and truncated to be bool; got {kinds}")
            json.dumps(info)
            if terminated or truncated:
                break


def check_hostile_text(make: EnvFactory, seed: int) -> None:
    """No text raises, whenever it is written."""
    env = make()
    for text in HOSTILE_TEXTS:
        env.reset(seed=seed)
        over = False
        for _ in range(_MAX_STEPS):
            _, _, terminated, truncated, _ = env.step(text)
            over = terminated or truncated
            if over:
                break
        _expect(over, f"expected {text[:40]!r}, repeated, to end the episode within {_MAX_STEPS} steps")


def check_nothing_shared(make: EnvFactory, seed: int) -> None:
    """What a step returned is not changed by later steps, nor by a caller who changes it."""
    env = make()
    kept = _play(env, seed, seed)
    frozen = copy.deepcopy(kept)
    _play(env, seed + 1, seed + 1)
    _expect(kept == frozen, "expected returned data to stay as it was; a later episode changed it")
    env.reset(seed=seed)
    for step, text in zip(kept[1:], _script(seed), strict=False):
        again = env.step(text)
        _expect(again[4] == step[4], "expected a caller's changes to info to have no effect; they had")
        again[4].clear()


def check_no_global_randomness(make: EnvFactory, seed: int) -> None:
    """The global generators neither change an episode nor are changed by it."""
    ours, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002 - the global generator is what is looked at
    try:
        first = _play(make(), seed, seed)
        drawn = random.random(), float(np.random.random())  # noqa: NPY002
        random.setstate(ours)
        np.random.set_state(numpys)  # noqa: NPY002
        same = (random.random(), float(np.random.random())) == drawn  # noqa: NPY002
        _expect(same, "expected the global generators to stay as they were; the environment used one")
        random.seed(seed + 1)
        np.random.seed(seed + 1)  # noqa: NPY002
        _expect(_play(make(), seed, seed) == first, "expected global seeds to have no effect; they had")
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)  # noqa: NPY002


def check_another_instance_beside(make: EnvFactory, seed: int) -> None:
    """Another instance, stepped in between, changes nothing."""
    alone = _play(make(), seed, seed)
    env, other = make(), make()
    env.reset(seed=seed)
    other.reset(seed=seed + 1)
    other_script = _script(seed + 1)
    for step, text in zip(alone[1:], _script(seed), strict=False):
        again = env.step(text)
        _expect(again[0] == step[0] and again[1] == step[1], "expected another instance to have no effect; it had")
        _, _, terminated, truncated, _ = other.step(next(other_script))
        if terminated or truncated:
            other.reset()


def check_snapshot(make: EnvFactory, seed: int) -> None:
    """Where there is `snapshot` and `restore`: the rest of an episode is reproduced, also from a pickle in a new instance."""
    env = make().unwrapped
    if not (hasattr(env, "snapshot") and hasattr(env, "restore")):
        return
    whole = _play(env, seed, seed)
    for cut in range(len(whole) - 1):
        env.reset(seed=seed)
        script = _script(seed)
        for _ in range(cut):
            env.step(next(script))
        other: Any = make().unwrapped
        other.restore(pickle.loads(pickle.dumps(env.snapshot())))
        for step, text in zip(whole[cut + 1 :], script, strict=False):
            again = other.step(text)
            _expect(again == step, f"restored after {cut} steps: expected {step!r}; got {again!r}")


CHECKS: dict[str, Callable[[EnvFactory, int], None]] = {
    "same seed, same episode": check_same_seed_same_episode,
    "types": check_types,
    "hostile text": check_hostile_text,
    "nothing shared": check_nothing_shared,
    "no global randomness": check_no_global_randomness,
    "another instance beside": check_another_instance_beside,
    "snapshot": check_snapshot,
}
"""Every check, by name."""
