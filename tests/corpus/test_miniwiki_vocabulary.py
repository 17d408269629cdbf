"""The words: what a question calls a relation, what a passage says, and what neither may say by chance."""

import re
from collections import Counter

import pytest

from sesa_env.corpus.miniwiki import MiniWiki, render, wording
from sesa_env.corpus.miniwiki.core import CORE
from sesa_env.corpus.miniwiki.names import ENDINGS, KINDS, SECOND_WORDS, Words
from sesa_env.corpus.miniwiki.schema import STOPWORDS, Relation, Schema
from sesa_env.corpus.miniwiki.tail import OFFICES

FILLERS = [*render.ABOUT_SUBJECT, *render.ABOUT_OBJECT, *render.NEUTRAL, *render.DECOYS, *render.DENIALS, render.NAMESAKE]


def words(*texts: str) -> set[str]:
    plain = " ".join(re.sub(r"\{\w+\}", " ", text) for text in texts)
    return set(re.findall(r"\w+", plain.lower())) - STOPWORDS


@pytest.fixture(scope="module")
def relations() -> tuple[Relation, ...]:
    return Schema(0, 160, 4, 1.0).relations


def test_the_lists_are_as_long_as_told():
    assert len(CORE) == 38
    assert len(OFFICES) == 70


def test_no_question_word_of_any_relation_is_a_passage_word_of_any(relations):
    nouns = words(*(noun for r in relations for noun in r.nouns))
    assert nouns.isdisjoint(words(*(sentence for r in relations for sentence in r.sentences)))


def test_every_noun_belongs_to_one_relation(relations):
    assert max(Counter(noun for r in relations for noun in r.nouns).values()) == 1


def test_every_sentence_has_words_that_no_other_relation_uses(relations):
    counts = Counter(word for r in relations for word in words(*r.sentences))
    for relation in relations:
        assert all(any(counts[word] == 1 for word in words(sentence)) for sentence in relation.sentences)


def test_the_two_sentences_of_a_relation_share_no_word(relations):
    for relation in relations[: len(CORE) + len(OFFICES)]:
        assert words(relation.sentences[0]).isdisjoint(words(relation.sentences[1])), relation


def test_fillers_and_lead_ins_hold_no_word_of_a_relation(relations):
    nouns = words(*(noun for r in relations for noun in r.nouns))
    sentences = words(*(sentence for r in relations for sentence in r.sentences))
    assert words(*FILLERS).isdisjoint(nouns | sentences)
    assert words(*wording.LEADINS, *wording.TRAILS).isdisjoint(nouns | sentences)


def test_keywords_are_the_content_words_of_a_sentence(relations):
    assert relations[0].keywords(0) == "drew breath"


def test_second_words_of_names_are_no_other_words(relations):
    seconds = [word.lower() for choices in SECOND_WORDS.values() for word in choices]
    assert len(set(seconds)) == len(seconds)
    others = words(*(text for r in relations for text in (*r.nouns, *r.sentences)), *FILLERS, *wording.LEADINS) | set(KINDS)
    assert others.isdisjoint(seconds)


def test_no_ending_of_a_class_of_words_ends_a_word_of_another():
    endings = [(kind, ending) for kind, choices in ENDINGS.items() for ending in choices]
    for kind, ending in endings:
        assert not any(other.endswith(ending) for owner, other in endings if owner != kind)
    assert not any(ending.endswith(other) for _, ending in endings for _, other in endings if ending != other)


def test_invented_words_are_no_words_of_the_grammar(relations):
    grammar = words(*(t for r in relations[:108] for t in (*r.nouns, *r.sentences)), *FILLERS, *wording.LEADINS) | STOPWORDS
    for kind in ENDINGS:
        invented = [Words(3, kind, 400)[index] for index in range(400)]
        assert len(set(invented)) == 400
        assert grammar.isdisjoint(invented)


def test_words_differ_up_to_their_capacity():
    supply = Words(11, "nick", 40_000)
    assert len({supply[index] for index in range(40_000)}) == 40_000


@pytest.mark.parametrize("distance", [0.0, 0.25, 0.8, 1.0])
def test_distance_is_the_share_of_far_relations(distance):
    relations = Schema(0, 40, 2, distance).relations
    assert sum(relation.far for relation in relations) == round(40 * distance)
    for relation in relations:
        shared = words(*relation.nouns) & words(*relation.sentences)
        assert shared == (set() if relation.far else words(*relation.nouns))


def test_passages_may_use_fewer_phrasings_than_questions():
    world = MiniWiki(seed=3, size=900, relations=60, phrasings=2, distance=1.0, sentences=1)
    assert {(len(row.nouns), len(row.sentences)) for row in world.schema.relations} == {(2, 1)}
    asked = [need for question in world.questions(200) for need in world.needs(question.text) or ()]
    words = {}
    for need in asked:
        words.setdefault(need.rank, set()).add(need.keywords)
    assert {len(found) for found in words.values()} == {1}
    assert len({need.phrase for need in asked}) > len(words)
    whole = MiniWiki(seed=3, size=900, relations=60, phrasings=2, distance=1.0)
    assert MiniWiki(seed=3, size=900, relations=60, phrasings=2, distance=1.0, sentences=2).fingerprint == whole.fingerprint
    assert world.fingerprint != whole.fingerprint


@pytest.mark.parametrize("phrasings", [1, 2, 5])
def test_phrasings_count_nouns_and_sentences(phrasings):
    for relation in Schema(0, 130, phrasings, 1.0).relations:
        assert len(set(relation.nouns)) == len(set(relation.sentences)) == phrasings


def test_posed_openings_are_long_enough():
    assert all(len(opening.split()) >= 7 for opening in wording.FORMAL_LEADINS)
