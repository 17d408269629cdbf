"""Invented names: a bijective function of (type, index), so that uniqueness needs no table.

Every class of words has endings of its own, and no ending of one class is the end of another's, so words of two classes never
coincide. Within a class a word is a mixed-radix numeral in syllables.
"""

from math import gcd, isqrt

from sesa_env.corpus.miniwiki.rng import derive, mix

KINDS = ("person", "city", "country", "company", "film", "book", "university", "band", "team", "ship")
"""The types of entities, as questions call them."""

ONSETS = ("b", "br", "d", "dr", "f", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "z")
_SYLLABLES = tuple(onset + vowel for onset in ONSETS for vowel in "aeiou")  # 105 syllables

ENDINGS = {
    "first": ("lda", "rin", "lia", "nor", "mis"),
    "last": ("hold", "wick", "bery", "stow", "quist"),
    "city": ("mora", "burgh", "haven", "ford", "mouth"),
    "country": ("stan", "nia", "land", "marque"),
    "company": ("tek", "dyne", "vex"),
    "film": ("rane", "thos", "lume"),
    "book": ("pharn", "gote", "zim"),
    "university": ("leth", "dorn", "beck"),
    "band": ("nix", "joo", "fuzz"),
    "team": ("keby", "rock", "dale"),
    "ship": ("varra", "nelle", "tide"),
    "nick": ("kin", "pip", "bles"),
    "jargon": ("gulm", "vesk", "drond", "thrax"),
}
"""The endings of each class of words."""

SECOND_WORDS = {
    "company": ("Works", "Foundry", "Mills", "Trading", "Brothers", "Holdings"),
    "film": ("Paradox", "Eclipse", "Nocturne", "Reverie", "Tempest", "Masquerade"),
    "book": ("Chronicle", "Saga", "Codex", "Elegy", "Fables", "Rhapsody"),
    "university": ("Polytechnic", "Academy", "Collegium", "Institute", "Athenaeum", "Seminary"),
    "band": ("Quartet", "Ensemble", "Trio", "Sinfonia", "Sextet", "Orchestra"),
    "team": ("Rovers", "Harriers", "Falcons", "Wanderers", "Badgers", "Lynxes"),
    "ship": ("Queen", "Voyager", "Venture", "Clipper", "Albatross", "Mermaid"),
}
"""Second words of two-word names: entities that share the first word and differ in the second are near-namesakes."""


class Words:
    """An endless-looking but exact supply of `size` different words of one class.

    Args:
        seed: the world's seed.
        kind: a key of `ENDINGS`.
        size: how many words are needed, at least 1.
    """

    def __init__(self, seed: int, kind: str, size: int) -> None:
        self._endings = ENDINGS[kind]
        self._length = 1
        while len(self._endings) * len(_SYLLABLES) ** self._length < 2 * size:
            self._length += 1
        self._capacity = len(self._endings) * len(_SYLLABLES) ** self._length
        key = derive(seed, "words", kind)
        self._shift = key % self._capacity
        self._step = _coprime(mix(key) % self._capacity, self._capacity)

    def __getitem__(self, index: int) -> str:
        """Returns word `index` in lower case; different indices below the capacity give different words."""
        rest = (index * self._step + self._shift) % self._capacity
        rest, ending = divmod(rest, len(self._endings))
        word: str = self._endings[ending]
        for _ in range(self._length):
            rest, syllable = divmod(rest, len(_SYLLABLES))
            word = _SYLLABLES[syllable] + word
        return word


def _coprime(start: int, modulus: int) -> int:
    step = max(start, 1)
    while gcd(step, modulus) != 1:
        step += 1
    return step


class Names:
    """The names of a world.

    Entity `index` of a kind belongs to the train split when it is even, to the test split when it is odd. First words (of
    persons: surnames) are shared by two or three entities of one split.

    Args:
        seed: the world's seed.
        halves: for each kind, the number of entities in one split.
        aliases: the share of entities that have a second name, in [0, 1].
    """

    def __init__(self, seed: int, halves: dict[str, int], aliases: float) -> None:
        self._aliases = round(10 * aliases)
        self._groups = {kind: _groups(kind, half) for kind, half in halves.items()}
        self._words = {
            kind: Words(seed, "last" if kind == "person" else kind, 2 * groups) for kind, groups in self._groups.items()
        }
        self._firsts = max(12, 2 * isqrt(2 * halves["person"]))
        self._first = Words(seed, "first", self._firsts)
        offsets = [0]
        for kind in KINDS:
            offsets.append(offsets[-1] + 2 * halves[kind])
        self._offsets = dict(zip(KINDS, offsets, strict=False))
        self._nick = Words(seed, "nick", offsets[-1])

    def name(self, kind: str, index: int) -> str:
        """Returns the canonical name of an entity."""
        half, split = divmod(index, 2)
        member, group = divmod(half, self._groups[kind])
        word = self.group_word(kind, 2 * group + split)
        if kind == "person":
            return f"{self._first[(5 * group + member) % self._firsts].capitalize()} {word}"
        if kind in SECOND_WORDS:
            return f"{word} {SECOND_WORDS[kind][(group + member) % len(SECOND_WORDS[kind])]}"
        return word

    def group_word(self, kind: str, group: int) -> str:
        """Returns the word that the members of a group share: a surname, or the first word of a two-word name."""
        return self._words[kind][group].capitalize()

    def namesake(self, kind: str, index: int, half_count: int) -> int | None:
        """Returns another entity that shares a word with this one's name, or None."""
        half, split = divmod(index, 2)
        groups = self._groups[kind]
        if half + groups < half_count:
            return 2 * (half + groups) + split
        return 2 * (half - groups) + split if half >= groups else None

    def group_count(self, kind: str) -> int:
        """Returns how many groups one split of this kind has."""
        return self._groups[kind]

    def nickname(self, kind: str, index: int) -> str | None:
        """Returns the second name of an entity, or None."""
        if (index // 2) % 10 >= self._aliases:
            return None
        return self._nick[self._offsets[kind] + index].capitalize()

    def spellings(self, kind: str, index: int) -> tuple[str, ...]:
        """Returns the accepted answers that mean this entity, its name first."""
        name = self.name(kind, index)
        nick = self.nickname(kind, index)
        inverted = (f"{name.split()[1]}, {name.split()[0]}",) if kind == "person" else ()
        return (name, *((nick,) if nick else ()), *inverted)


def _groups(kind: str, half: int) -> int:
    """The number of name groups in one split: surnames have about three bearers, other first words two, places stand alone."""
    if kind == "person":
        return max(1, -(-half // 3))
    return max(1, -(-half // 2)) if kind in SECOND_WORDS else half
