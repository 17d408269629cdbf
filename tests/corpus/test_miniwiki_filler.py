"""The option `filler`: how much padding pages hold; the padding alone changes."""

import pytest

from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.corpus.miniwiki.render import ABOUT_OBJECT, DENIALS, NEUTRAL
from sesa_env.errors import ConfigError

EMPTY = tuple(sentence.split("{o}")[0].strip() for sentence in (*NEUTRAL, *ABOUT_OBJECT, *DENIALS) if sentence[0] != "{")


def padding(wiki: MiniWiki) -> list[int]:
    """Counts the empty sentences of each page."""
    return [sum(sentence in passage.text for sentence in EMPTY if sentence) for passage in wiki.passages()]


def test_the_default_is_two_and_keeps_the_fingerprint():
    assert MiniWiki(filler=2).fingerprint == MiniWiki().fingerprint
    assert list(MiniWiki(filler=2).passages()) == list(MiniWiki().passages())


def test_each_amount_is_a_world_of_its_own():
    assert len({MiniWiki(filler=filler).fingerprint for filler in range(3)}) == 3


def test_padding_grows_with_the_option_and_is_gone_at_nought():
    totals = [sum(padding(MiniWiki(filler=filler))) for filler in range(3)]
    lists = sum(passage.id.startswith("list-") for passage in MiniWiki().passages())
    assert totals[0] == lists  # a list of namesakes keeps its remark
    assert totals[0] < totals[1] < totals[2]


def test_facts_questions_and_evidence_stay_the_same():
    full, bare = MiniWiki(seed=1000), MiniWiki(seed=1000, filler=0)
    assert full.questions(50) == bare.questions(50)
    texts = {passage.id: passage.text for passage in full.passages()}
    statements = [passage for passage in bare.passages() if not passage.id.startswith("list-")]
    assert statements
    for passage in statements:
        first = passage.text.split(". ")[0].rstrip(".")
        assert first in texts[passage.id]


def test_decoys_stay():
    bare = MiniWiki(seed=1000, filler=0, distance=1.0)
    decoyed = [passage for passage in bare.passages() if any(word in passage.text for word in ("Rumour", "Gossip", "Outdated"))]
    assert len(decoyed) > 100


@pytest.mark.parametrize("filler", [-1, 3, 1.5, True])
def test_other_amounts_are_refused(filler):
    with pytest.raises(ConfigError, match="filler"):
        MiniWiki(filler=filler)
