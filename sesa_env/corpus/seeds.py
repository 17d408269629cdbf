"""Targets for the Challenger: SSP's published pools, or titles that other passages of the corpus mention.

No benchmark question and no benchmark answer may seed training (paper, section 1).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sesa_env.corpus import fields
from sesa_env.corpus.jsonl import read_objects
from sesa_env.corpus.parquet import ground_truth, read_raw_rows
from sesa_env.corpus.problems import Malformed, Problems, require_file, shorten
from sesa_env.grading import normalise
from sesa_env.search.base import Corpus
from sesa_env.types import Passage, Target

MAX_HOPS = 3
"""The longest chain that SSP's pool asks for."""

_HOPS_IN_DIGITS = {str(hops) for hops in range(1, MAX_HOPS + 1)}
_SSP_SEARCHES = re.compile(r"requires ([0-9]{1,9}) search")
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
_WORD = re.compile(r"\w+")
_LONGEST_TITLE = 6
_SHORTEST_WORD = 4
_NEIGHBOUR = 30  # characters looked back at for the word before a name


def load_targets(path: str | Path, forbidden: Collection[str] = ()) -> tuple[Target, ...]:
    """Reads SSP's pools of target answers.

    Args:
        path: JSONL (plain or gzipped) or parquet. Each record has the answer in "ground_truth" and the hop count in
            "search_turns" (the raw pool), or the answer in `reward_model.ground_truth.target` and the hop count in the
            prompt, as "requires N searches" (the pool made ready for verl). A list is the answer and its aliases.
        forbidden: answers that no target may have, after normalisation: such targets are left out.

    Raises:
        ConfigError: there is no such file, it is malformed or holds no target; the first problems are named by line or row.
    """
    require_file(path, "targets")
    path, problems, targets = Path(path), Problems(), []
    read, place = (read_raw_rows, "row") if path.suffix == ".parquet" else (read_objects, "line")
    for number, record in read(path, problems):
        try:
            targets.append(_target(record, f"{path.name.partition('.')[0]}/{number}"))
        except Malformed as error:
            problems.add(path, f"{place} {number}", str(error))
    if not targets:
        problems.add(path, "", "expected targets; found none that is well-formed")
    problems.stop()
    barred = {normalise(answer) for answer in forbidden}
    return tuple(target for target in targets if barred.isdisjoint(map(normalise, target.answers)))


def _target(record: Mapping[str, Any], target_id: str) -> Target:
    value = record["ground_truth"] if "ground_truth" in record else ground_truth(record)
    name = "ground_truth" if "ground_truth" in record else "reward_model.ground_truth.target"
    answer, *aliases = fields.answers([value] if isinstance(value, str) else value, name)
    return Target(target_id, answer, _target_hops(record), tuple(aliases))


def _target_hops(record: Mapping[str, Any]) -> int:
    value = record.get("search_turns")
    if value is None:
        said = [content for _, content in fields.turns(record)]
        found = _SSP_SEARCHES.search(said[-1]) if said else None
        value = int(found.group(1)) if found else None
    if isinstance(value, str) and value in _HOPS_IN_DIGITS:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_HOPS:
        return value
    raise Malformed(
        f'expected 1 to {MAX_HOPS} hops in "search_turns", or "requires N searches" in the prompt; came {shorten(value)}'
    )


def mentioned_titles(corpus: Corpus, n: int, seed: int, forbidden: Collection[str] = ()) -> tuple[Target, ...]:
    """Samples targets from a corpus: titles of passages that other passages mention, so that a search can lead to them.

    Args:
        corpus: the passages.
        n: how many targets at most; each title once.
        seed: decides which passages are looked through first, and the hop counts, which are uniform over 1 to 3.
        forbidden: answers that no target may be, after normalisation: those of the benchmarks.

    Returns:
        The targets, fewer than `n` where the corpus has no more.
    """
    n = min(n, len(corpus))
    rng = np.random.default_rng([seed, 0x5EED])
    titles = _titles(corpus, {normalise(answer) for answer in forbidden})
    found: dict[str, None] = {}
    for place in rng.permutation(len(corpus)).tolist():
        if len(found) >= n:
            break
        found.update(dict.fromkeys(_mentions(corpus[place], titles)))
    hops = rng.integers(1, MAX_HOPS + 1, size=n).tolist()
    return tuple(Target(f"title/{place}", title, hops[place]) for place, title in enumerate(list(found)[:n]))


def _titles(corpus: Corpus, forbidden: set[str]) -> frozenset[str]:
    """Collects the titles, without a qualifier such as "(1937 film)", that can stand as answers."""
    found = (_QUALIFIER.sub("", corpus[place].title) for place in range(len(corpus)))
    return frozenset(title for title in found if _is_name(title) and normalise(title) not in forbidden)


def _is_name(title: str) -> bool:
    """Says whether a title reads as a name: a capital first, and not one short word, which occurs by chance everywhere."""
    words = _WORD.findall(title)
    return title[:1].isupper() and 1 <= len(words) <= _LONGEST_TITLE and (len(words) > 1 or len(title) >= _SHORTEST_WORD)


def _mentions(passage: Passage, titles: frozenset[str]) -> Iterator[str]:
    """Yields the titles that a passage's text mentions as whole names, the longest at each place, its own title aside."""
    own = normalise(_QUALIFIER.sub("", passage.title))
    words = list(_WORD.finditer(passage.text))
    after = 0
    for first, word in enumerate(words):
        if first < after or not word.group()[0].isupper() or _starts_sentence(passage.text, word.start()):
            continue
        for last in range(min(first + _LONGEST_TITLE, len(words)) - 1, first - 1, -1):
            title = passage.text[word.start() : words[last].end()]
            if title in titles and not _goes_on(passage.text, word.start(), words[last].end()):
                after = last + 1
                if normalise(title) != own:
                    yield title
                break


def _goes_on(text: str, start: int, end: int) -> bool:
    """Says whether a name goes on before or behind this stretch, as "West" does in "West Virginia"."""
    before = _WORD.findall(text[max(0, start - _NEIGHBOUR) : start - 1]) if text[start - 1 : start] in {" ", "-"} else []
    behind = text[end + 1 : end + 2] if text[end : end + 1] in {" ", "-"} else ""
    return behind.isupper() or bool(before and before[-1][0].isupper() and text[: start - 1].endswith(before[-1]))


def _starts_sentence(text: str, start: int) -> bool:
    """Says whether a word stands where any word is capitalised, so that its capital makes it no name."""
    before = text[:start].rstrip()
    return not before or before[-1] in ".?!:\"'“"
