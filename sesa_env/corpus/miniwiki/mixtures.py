"""Seven mixtures shaped like the seven benchmarks of the paper (section 6), and never passed off as them."""

from collections.abc import Mapping
from dataclasses import dataclass

from sesa_env.corpus.miniwiki.wording import TRAILS, TRIVIA_LEADINS, Style


@dataclass(frozen=True, slots=True)
class Mixture:
    """What a benchmark asks, and how.

    Attributes:
        families: weights of the sampler's families.
        style: the wording.
        size: the number of questions of the real benchmark in the paper's evaluation.
    """

    families: Mapping[str, float]
    style: Style
    size: int = 500


MIXTURES: Mapping[str, Mixture] = {
    # one hop, typed into a search box: lower case, no question mark
    "nq": Mixture({"single": 0.9, "inverse": 0.1}, Style(bare=True)),
    # one hop, in a quizmaster's many words
    "triviaqa": Mixture({"single": 0.75, "inverse": 0.25}, Style(leadins=TRIVIA_LEADINS, trails=TRAILS)),
    # one hop, from short templates, about entities that are rarely mentioned
    "popqa": Mixture({"rare": 1.0}, Style(short=True)),
    # two hops and comparisons, about one in sixteen to be answered with yes or no
    "hotpotqa": Mixture({"bridge2": 0.69, "intersection": 0.10, "comparison": 0.15, "yesno": 0.06}, Style()),
    # compositions, comparisons and comparisons of compositions, about one in eleven to be answered with yes or no
    "2wikimultihopqa": Mixture({"bridge2": 0.45, "comparison": 0.24, "bridge_comparison": 0.22, "yesno": 0.09}, Style()),
    # compositions of two and three hops
    "musique": Mixture({"bridge2": 0.55, "bridge3": 0.45}, Style()),
    # two hops, short
    "bamboogle": Mixture({"bridge2": 1.0}, Style(short=True), size=125),
}
"""By name, in the paper's order."""

BENCHMARKS = tuple(MIXTURES)
"""The names of the seven mixtures."""

DEFAULT_FAMILIES: Mapping[str, float] = {
    "single": 0.3, "inverse": 0.1, "bridge2": 0.2, "bridge3": 0.1,
    "comparison": 0.1, "bridge_comparison": 0.05, "yesno": 0.05, "intersection": 0.1,
}  # fmt: skip
"""What `MiniWiki.questions` draws unless told otherwise."""
