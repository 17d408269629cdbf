"""New names for old lessons: demonstrations in which each invented name and figure is drawn anew, on token ids.

Demonstrations come from a few worlds. Gone through again and again, their facts would be learnt by heart; what is to be learnt
is to take names from the question and from passages. So a lesson's syllables are exchanged for others before each use, the same
one everywhere in the lesson, and its endings stay, which tell a person from a city. A year's or number's later digits likewise.

In a Solver's lesson the words of duties can be exchanged too: what an archivist is said to do is another thing in each.
Offices are the procedural tail, and a Solver that had learnt from its demonstrations which words go with which office
would have nothing left to learn, from cards or otherwise. So it learns to take them from a card. The Challenger, who must
tell an office by its duty to ask for it, learns them as they are.
"""

from collections.abc import Sequence

import torch

from agents.tiny_vocabulary import TARGET, VOWELS, duty_words, pieces
from sesa_env.corpus.miniwiki.names import ENDINGS, ONSETS


class Renamer:
    """Exchanges syllables and digits in the ids of `tiny_tokenizer`, and the words of duties.

    Args:
        exchange_duties: whether a Solver's lessons are told of other duties.
    """

    def __init__(self, *, exchange_duties: bool = False) -> None:
        self._exchange_duties = exchange_duties
        self._ids = {piece: index for index, piece in enumerate(pieces())}
        syllables = sorted(onset + vowel for onset in ONSETS for vowel in VOWELS)
        endings = sorted(ending for row in ENDINGS.values() for ending in row)
        self._first = self._of([f" {syllable}" for syllable in syllables])
        self._inner = self._of(syllables)
        self._digits = [self._of([str(number) for number in range(10)]), self._of([f"{number:02}" for number in range(100)])]
        self._duties = self._of([f" {word}" for word in duty_words()])
        self._target = self._ids[TARGET]
        self._continues = self._among(torch.cat([self._inner, self._of(endings)]))
        self._may_begin = self._among(self._first)

    def __call__(self, ids: Sequence[int], seed: int) -> tuple[int, ...]:
        """Returns the ids with other names and figures, as many.

        Args:
            ids: a whole lesson.
            seed: another one gives other names.
        """
        draw = torch.Generator().manual_seed(seed)
        row = torch.tensor(ids, dtype=torch.long)
        turned = torch.randperm(len(self._inner), generator=draw)
        inside, begins = torch.arange(len(self._ids)), torch.arange(len(self._ids))
        inside[self._inner], begins[self._first] = self._inner[turned], self._first[turned]
        for digits in self._digits:
            inside[digits] = digits[torch.randperm(len(digits), generator=draw)]
        if self._exchange_duties and self._target not in ids:
            inside[self._duties] = self._duties[torch.randperm(len(self._duties), generator=draw)]
        # " to" may be a word or a first syllable: it is the latter if a name goes on after it.
        goes_on = torch.cat([self._continues[row[1:]], torch.tensor([False])])
        begin = self._may_begin[row] & goes_on
        return tuple(torch.where(begin, begins[row], inside[row]).tolist())

    def _of(self, names: Sequence[str]) -> torch.Tensor:
        return torch.tensor([self._ids[name] for name in names])

    def _among(self, ids: torch.Tensor) -> torch.Tensor:
        """Returns a mask over the vocabulary."""
        mask = torch.zeros(len(self._ids), dtype=torch.bool)
        mask[ids] = True
        return mask
