"""Who plays, beyond the scripted players of `sesa_env.players`: the self-play loop, and later models and learners."""
