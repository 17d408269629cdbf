"""A small Llama that has been taught one episode by heart: a search, then the right answer."""

import json
from pathlib import Path

import torch

from agents.policy import Policy
from agents.prompts import load_style
from sesa_env.game import GameConfig, SearchGame
from tests.agents.toy_policy import byte_tokenizer, toy_model
from tests.toy import QUESTION, toy_world

SEARCH, ANSWER = "<search> Alda Wern </search>", "<answer> Corin Vale </answer>"
RULES = GameConfig(group_size=1, max_turns=4)


def episode() -> SearchGame:
    """The episode after its search."""
    game = SearchGame(toy_world(), RULES)
    game.reset(QUESTION)
    game.act(SEARCH)
    return game


def taught_policy() -> Policy:
    """A policy that plays the episode, as one long message and as a conversation."""
    tokenizer = byte_tokenizer()
    model = toy_model(tokenizer)
    model.config.max_position_embeddings = 4096
    policy = Policy("taught", model, tokenizer, load_style("tags"))
    _train(policy, [_as_message(policy), *_as_conversation(policy)])
    return policy


def _as_message(policy: Policy) -> tuple[list[int], list[bool]]:
    """Ids and mask in the form of training: what the game says stands inside the assistant's message."""
    view = episode().view()
    first, last = (policy.tokenizer(text, add_special_tokens=False)["input_ids"] for text in (SEARCH, ANSWER))
    parts = [(policy.prompt_ids(view), False), (first, True), (policy.observation_ids(view.turns[0][1]), False), (last, True)]
    return [i for ids, _ in parts for i in ids], [mark for ids, mark in parts for _ in ids]


def _as_conversation(policy: Policy) -> list[tuple[list[int], list[bool]]]:
    """The same in the form of chat servers: what the game says is the user's next message."""
    view = episode().view()
    shown = policy.style.observation(view.turns[0][1]).strip()
    first = [{"role": "user", "content": policy.style.user(view)}]
    second = [*first, {"role": "assistant", "content": SEARCH}, {"role": "user", "content": shown}]
    rows = []
    for messages, said in ((first, SEARCH), (second, ANSWER)):
        text = policy.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        asked = policy.tokenizer(text, add_special_tokens=False)["input_ids"]
        reply = policy.tokenizer(said + "<|im_end|>", add_special_tokens=False)["input_ids"]
        rows.append((asked + reply, [False] * len(asked) + [True] * len(reply)))
    return rows


def _train(policy: Policy, rows: list[tuple[list[int], list[bool]]]) -> None:
    optimiser = torch.optim.Adam(policy.model.parameters(), lr=1e-2)
    for _ in range(400):
        losses = [_loss(policy, ids, mask) for ids, mask in rows]
        if max(losses).item() < 0.01:
            return
        optimiser.zero_grad()
        sum(losses).backward()
        optimiser.step()
    raise AssertionError(f"the model has not learnt its episode: {losses}")


def _loss(policy: Policy, ids: list[int], mask: list[bool]) -> torch.Tensor:
    targets = torch.tensor([token if mark else -100 for token, mark in zip(ids, mask, strict=True)])
    logits = policy.model(torch.tensor([ids])).logits[0, :-1]
    return torch.nn.functional.cross_entropy(logits, targets[1:])


def task(policy: Policy) -> str:
    """All that a stranger needs to play the episode with the saved model: the message, and what searches show."""
    view = episode().view()
    shown = policy.observation_ids(view.turns[0][1])
    return json.dumps({"prompt": policy.style.user(view), "shown": policy.decode(shown)})


PLAIN_LOOP = Path(__file__).with_name("plain_loop.py")
