"""A reranker of your own: first come the passages after which a language model finds the question likely.

It is a cross-encoder without training (Sachan et al., 2022, "Improving Passage Retrieval with Zero-Shot Question Generation").
Take it by name wherever a reranker is asked for, with this folder on PYTHONPATH:

    rerank={"model": "likelihood_reranker:smollm2", "depth": 10}
"""

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from sesa_env.models import model_path

BATCH = 8
MOST = 256  # ids of a passage that are read


class Likelihood:
    """Scores pairs of query and passage by the mean log-probability of the query's words after the passage."""

    def __init__(self, name):
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32).eval()

    @torch.no_grad()
    def score(self, pairs):
        rows = [self._ids(query, passage) for query, passage in pairs]
        scores = np.zeros(len(rows), np.float32)
        order = sorted(range(len(rows)), key=lambda number: len(rows[number][0]))
        for start in range(0, len(order), BATCH):
            numbers = order[start : start + BATCH]
            scores[numbers] = self._likelihoods([rows[number] for number in numbers])
        return scores

    def _ids(self, query, passage):
        """The ids of passage and query, and how many of them are the query's."""
        read = self.tokenizer(f"Passage: {passage}", truncation=True, max_length=MOST)["input_ids"]
        asked = self.tokenizer(f"\nQuestion about it: {query}", add_special_tokens=False)["input_ids"]
        return [*read, *asked], len(asked)

    def _likelihoods(self, rows):
        width = max(len(ids) for ids, _ in rows)
        padded = torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in rows])  # on the right: no id sees it
        hidden = self.model.model(padded).last_hidden_state
        means = []
        for states, (ids, asked) in zip(hidden, rows, strict=True):
            said = self.model.lm_head(states[len(ids) - asked - 1 : len(ids) - 1]).log_softmax(-1)
            means.append(float(said.gather(1, torch.tensor(ids[-asked:])[:, None]).mean()))
        return means


def smollm2():
    """SmolLM2-135M-Instruct; `sesa models get smollm2` fetches it."""
    return Likelihood(str(model_path("smollm2")))
