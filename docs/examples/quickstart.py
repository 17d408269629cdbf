"""One episode of SESA-Search-v0, from the Solver's seat."""

import gymnasium

env = gymnasium.make("sesa_env:SESA-Search-v0", role="solver", memory="seeds", corpus_options={"n_targets": 20})
prompt, info = env.reset(seed=3)
print(prompt)

shown, reward, terminated, truncated, info = env.step("<think>The name first.</think><search>Tifuzz Trio vocalist</search>")
print(shown)
print(f"{info['turns_left']} turns and {info['searches_left']} searches left")

shown, reward, terminated, truncated, info = env.step("<answer>Vinor Boquist</answer>")
print(f"reward {reward}, over: {terminated or truncated}")
