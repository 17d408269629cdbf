"""The game for trainers of language models: TRL, verl, verifiers, and anything that speaks in chat messages."""
