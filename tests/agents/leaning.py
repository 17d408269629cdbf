"""A random Llama that leans towards the tag protocol, so that its rollouts search, answer and blunder; on the toy world."""

import torch

from agents.policy import Policy
from sesa_env.game import GameConfig, SearchGame
from sesa_env.types import Question
from tests.agents.toy_policy import toy_policy
from tests.toy import toy_world

WORDS = ("wrote", "author", "book", "Ada", "Vale", "town")


def leaning_policy(strength: float = 7.0) -> Policy:
    """After what ends a prompt or an observation it likes to open a tag, and after a word to close one."""
    policy = toy_policy("words")
    words = policy.tokenizer.get_vocab()
    lean = torch.zeros(len(words), len(words))
    for before in ("[UNK]", "?", "</information>", "<information>"):
        lean[words[before], words["<search>"]] = strength
        lean[words[before], words["<answer>"]] = strength - 1
    for before in sorted(words.keys() - {"[UNK]", "?", "</information>", "<information>"}):
        closing = strength if not before.startswith("<") else 0.0
        lean[words[before], words["</search>"]] = closing - 3
        lean[words[before], words["</answer>"]] = closing - 4
        for word in WORDS:
            lean[words[before], words[word]] = 3.0

    def nudge(module, arguments, options, output):
        output.logits = output.logits + lean[options["input_ids"][:, -output.logits.shape[1] :]]
        return output

    policy.model.register_forward_hook(nudge, with_kwargs=True)
    return policy


def toy_games(count: int, group_size: int = 1, **config: int) -> list[SearchGame]:
    """Games whose questions, and so prompts, differ in length."""
    world, rules = toy_world(), GameConfig(**{"group_size": group_size, "max_turns": 4, **config})
    games = [SearchGame(world, rules) for _ in range(count)]
    for index, game in enumerate(games):
        game.reset(Question(f"q{index}", "Who wrote it " + "of the book " * (index % 7) + "?", ("Ada Vale",)))
    return games
