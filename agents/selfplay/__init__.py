"""Self-play of language models: Challenger and Solver pose, solve and remember (paper, sections 1 to 4).

| file | subject |
|---|---|
| `config`, `presets`, `arms` | what a run is, and the named ones |
| `loop` | the run: steps, checkpoints, resuming |
| `posing`, `solving`, `lessons` | the phases of a step: questions, rollouts, rewards |
| `keeper`, `skillrl`, `judging`, `leak` | the bank at the step boundary, and the options around it |
| `pool`, `families`, `held_out`, `draws` | replayed questions, what counts as the same, what is barred, all draws |
| `directory`, `finished`, `checkpoint`, `guard` | where a run is, whether it has ended, what it goes on from, what stops it |
| `metrics`, `row`, `clock`, `live`, `boards` | what is told of a run |
"""
