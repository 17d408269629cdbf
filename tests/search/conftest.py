"""A corpus of templates, in which many passages score alike: ties are the rule there, as in MiniWiki."""

import numpy as np
import pytest

from sesa_env.search.corpus import ListCorpus
from sesa_env.types import Passage

NAMES = ("Alda Wern", "Corin Vale", "Tilda Fenn", "Oro Wern", "Mira Fenn", "Jory Vale", "Zoë Ørn")
FACTS = ("wed {}.", "was born in the city of {}.", "wrote the book {}.", "works for {}, a company in {}.", "{} is 日本 {}.")


def template_corpus(size: int, seed: int = 0) -> ListCorpus:
    rng = np.random.default_rng(seed)
    passages = []
    for place in range(size):
        name, one, two = (NAMES[index] for index in rng.integers(len(NAMES), size=3))
        facts = [FACTS[index].format(one, two) for index in rng.integers(len(FACTS), size=rng.integers(1, 4))]
        passages.append(Passage(f"p{place}", name, f"{name} {' '.join(facts)}"))
    return ListCorpus(passages)


def template_queries(count: int, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    vocabulary = " ".join([*NAMES, *FACTS, "nobody knows"]).replace("{}", "").split()
    return [
        " ".join(vocabulary[index] for index in rng.integers(len(vocabulary), size=rng.integers(1, 9))) for _ in range(count)
    ]


@pytest.fixture(scope="session")
def corpus() -> ListCorpus:
    return template_corpus(600)


@pytest.fixture(scope="session")
def queries() -> list[str]:
    return template_queries(400)
