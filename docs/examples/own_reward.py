"""Rewards of one's own: the Challenger's by name, the Solver's by a Gymnasium wrapper."""

import gymnasium

import sesa_env  # noqa: F401 - registers the environment
from sesa_env.rewards import RewardConfig, challenger_reward


def narrow(solve_rate, config):
    """1 where exactly half of the Solvers were right, falling to -1 where all or none were."""
    return 1.0 - 4.0 * abs(solve_rate - 0.5)


class Thrift(gymnasium.Wrapper):
    """Takes a little from the Solver for every search that it makes."""

    def __init__(self, env, price=0.05):
        super().__init__(env)
        self.price = price

    def step(self, action):
        shown, reward, terminated, truncated, info = self.env.step(action)
        return shown, reward - self.price * (info["event"] == "search"), terminated, truncated, info


if __name__ == "__main__":
    own = RewardConfig(challenger="own_reward:narrow")
    for right in range(6):
        rate = right / 5
        print(f"p = {rate}: bell {challenger_reward(rate, RewardConfig()):.2f}, narrow {challenger_reward(rate, own):.2f}")

    rules = {"reward": {"challenger": "own_reward:narrow"}, "group_size": 2}
    env = gymnasium.make("SESA-Search-v0", rules=rules, corpus_options={"n_targets": 20})
    env.reset(options={"question": {"id": "mine", "text": "Who is the mayor of Ashford?", "answers": ["Ada Vale"]}})
    print(env.unwrapped.game.config.reward.challenger)

    env = Thrift(gymnasium.make("SESA-Search-v0", role="solver", corpus_options={"n_targets": 20}))
    env.reset(options={"question": {"id": "mine", "text": "Who is the mayor of Ashford?", "answers": ["Ada Vale"]}})
    print("a search:", env.step("<search>mayor of Ashford</search>")[1])
    print("the answer:", env.step("<answer>Ada Vale</answer>")[1])
