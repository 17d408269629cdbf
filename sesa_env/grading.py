"""Scores of an answer: SQuAD's normalisation after Unicode NFC, exact match and F1 over all aliases (paper, section 6)."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """Normalises an answer: NFC, lower case, no ASCII punctuation, no articles, single spaces.

    Args:
        text: any string.

    Returns:
        The normalised string; may be "".
    """
    text = unicodedata.normalize("NFC", text).lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


_normalise_answer = lru_cache(maxsize=65536)(normalise)  # gold answers and aliases come again and again; passages do not


def exact_match(prediction: str, answers: Iterable[str]) -> bool:
    """Says whether the prediction equals one of the answers after normalisation.

    A prediction that normalises to nothing is right only for an answer that does too and is the same string, so that an empty
    prediction never matches an answer made of punctuation.
    """
    predicted = normalise(prediction)
    if not predicted:
        return bool(prediction.strip()) and prediction.strip() in {answer.strip() for answer in answers}
    return any(predicted == _normalise_answer(answer) for answer in answers)


def f1(prediction: str, answers: Iterable[str]) -> float:
    """Returns the best token F1 against any answer, in [0, 1] (SQuAD's rule; yes, no and noanswer only match whole)."""
    return max((_token_f1(normalise(prediction), _normalise_answer(answer)) for answer in answers), default=0.0)


def _token_f1(predicted: str, gold: str) -> float:
    whole = {"yes", "no", "noanswer"}
    if predicted != gold and (predicted in whole or gold in whole):
        return 0.0
    predicted_tokens, gold_tokens = predicted.split(), gold.split()
    common = sum((Counter(predicted_tokens) & Counter(gold_tokens)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(predicted_tokens), common / len(gold_tokens)
    return 2 * precision * recall / (precision + recall)


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Says whether a normalised answer occurs in the normalised text at word boundaries."""
    padded = f" {normalise(text)} "
    return any(f" {normalised} " in padded for answer in answers if (normalised := _normalise_answer(answer)))
