"""Self-play of language models: Challenger and Solver pose, solve and remember (paper, sections 1 to 4).

| file | subject |
|---|---|
| `config`, `presets`, `arms` | what a run is, and the named ones |
| `loop` | the run: steps, checkpoints, resuming |
| `posing`, `solving`, `lessons` | the phases of a step: questions, rollouts, rewards |
| `keeper`, `skillrl`, `judging`, `leak` | the bank at the step boundary, and the options around it |
| `pool`, `families`, `draws` | replayed questions, what counts as the same, all draws |
| `held_out`, `compositions` | what nothing is trained on, since evaluation asks it |
| `directory`, `finished`, `checkpoint`, `guard` | where a run is, whether it has ended, what it goes on from, what stops it |
| `metrics`, `row`, `clock`, `live`, `boards` | what is told of a run |
"""
