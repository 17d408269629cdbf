"""Export and import: exact, atomic, with file and line in every error."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import Provenance, SkillCard
from sesa_env.memory.exchange import diff, dumps, import_cards, loads, read_cards
from sesa_env.memory.markdown import read_markdown, write_markdown
from sesa_env.memory.seeds import SEEDS
from sesa_env.types import Group
from tests.memory.helpers import RELATIONS, card, question, right, wrong

# Everything that could end a line, a part, a card or a file early.
hostile = st.sampled_from(
    ["\n", "\r\n", "\r", "#", "## x", "**Avoid**", "> ", "- ", "|", '"', "\\", "\\u0041", " ", "\t", "\u2028", "\ufeff", "\x00"]
)
texts = st.lists(st.one_of(st.text(st.characters(), max_size=8), hostile), max_size=6).map("".join)
floats = st.floats(min_value=0, max_value=1e9)
cards = st.builds(
    SkillCard,
    texts,
    texts,
    texts,
    texts,
    st.lists(texts, max_size=3).map(tuple),
    st.booleans(),
    st.integers(0, 99),
    floats,
    floats,
    st.builds(Provenance, texts, st.lists(texts, max_size=3).map(tuple), texts, st.integers(-1, 99), texts, texts),
)


@pytest.mark.parametrize("kind", ["md", "jsonl"])
@given(st.lists(cards, max_size=3, unique_by=lambda made: made.id))
def test_what_is_written_reads_back_exactly(kind, made):
    text = dumps(made, kind)
    assert [card for _, card in loads(text, kind)] == made
    assert dumps([card for _, card in loads(text, kind)], kind) == text
    text.encode()


def test_markdown_is_readable():
    text = write_markdown([SEEDS[0]])
    assert text.startswith("# Skill bank\n\n## seed-author\n\n- permanent: yes\n")
    assert '**Trigger**\n\n> Questions that ask "who wrote", "author of"' in text
    assert "**Queries**\n\n- {entity} novel written by author\n- {entity} book by\n" in text
    assert "\\" not in text


def test_a_card_by_hand_is_short():
    text = "## mine\r\n**Description**\n> Do it.\n**Trigger**\n>Always.\n**Avoid**\n> Not.\n>\n> Never.\n"
    text += "**Queries**\n- {entity} x\n"
    ((line, made),) = read_markdown(text)
    assert line == 1
    assert made == SkillCard("mine", "Do it.", "Always.", "Not.\n\nNever.", ("{entity} x",))


GOOD = write_markdown([card("spouse", "one")])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hello", "f.md:1: expected '## ID'"),
        (GOOD.replace("- step: -1", "- step: soon"), "f.md:11: expected a whole number; got 'soon'"),
        (GOOD.replace("- hurt: 0.0", "- hurt: much"), "f.md:8: expected a number"),
        (GOOD.replace("- permanent: no", "- permanent: perhaps"), "f.md:5: expected yes or no"),
        (GOOD.replace("- step", "- stop"), "f.md:11: a card's facts are permanent, "),
        (GOOD.replace("**Avoid**", "**Hint**"), "f.md:23: a part is one of"),
        (GOOD.replace("**Avoid**", "**Trigger**"), "f.md:23: the part **Trigger** occurs twice"),
        (GOOD.replace("> Sending", "Sending"), "f.md:25: expected '> text'"),
        (GOOD.replace("- {entity}", "* {entity}"), "f.md:29: expected '- query template'"),
        (GOOD.split("**Queries**")[0], "f.md:3: the card 'one' lacks **Queries**"),
        (GOOD + GOOD, "f.md:32: the id 'one' occurs already in line 3"),
    ],
)
def test_faults_in_markdown_are_named_by_file_and_line(tmp_path, monkeypatch, text, fault):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.md").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        read_cards("f.md")
    assert str(error.value).startswith(fault)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "f.jsonl:2: "),
        ("[1]", "f.jsonl:2: card: expected a mapping"),
        ('{"id": "x"}', "f.jsonl:2: card: 'description' is missing"),
        (
            dumps([card("spouse")], "jsonl").replace('"hurt": 0.0', '"hurt": "much"').strip(),
            "f.jsonl:2: card.hurt: expected float",
        ),
        (dumps([card("spouse")], "jsonl").replace('"avoid"', '"avoit"').strip(), "f.jsonl:2: card: 'avoit' is not known"),
    ],
)
def test_faults_in_jsonl_are_named_by_file_and_line(tmp_path, monkeypatch, line, fault):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.jsonl").write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        read_cards("f.jsonl")
    assert str(error.value).startswith(fault)


@pytest.mark.parametrize("name", ["bank.txt", "bank"])
def test_other_formats_are_refused(tmp_path, name):
    with pytest.raises(ConfigError, match=r"ends in \.jsonl or \.md"):
        read_cards(tmp_path / name)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "bad.md").write_bytes(b"\xff\xfe")
    for name in ("bad.md", "absent.md"):
        with pytest.raises(ConfigError, match=name):
            read_cards(tmp_path / name)


def filled() -> SkillBank:
    bank = SkillBank.open()
    bank.prime(SEEDS)
    bank.carry_out(bank.plan([card(relation, key=f"key-{relation}") for relation in RELATIONS[:3]])[0])
    bank.commit(1, [Group(question(1), (right("card-spouse"), wrong("card-author", "seed-author")))])
    return bank


@pytest.mark.parametrize("suffix", ["md", "jsonl"])
def test_a_bank_exported_and_imported_is_the_same(tmp_path, suffix):
    bank, file = filled(), tmp_path / f"bank.{suffix}"
    file.write_bytes(dumps(bank.cards(), suffix).encode())
    other = SkillBank.open()
    report = import_cards(other, file, counters=True)
    assert other.cards() == bank.cards()
    assert other.snapshot() == bank.snapshot()
    assert len(report.added) == len(bank.cards())
    assert import_cards(other, file, counters=True).unchanged == report.added


def test_counters_stay_behind_unless_asked_for(tmp_path):
    bank, file = filled(), tmp_path / "bank.md"
    file.write_text(dumps(bank.cards(), "md"), encoding="utf-8")
    other = SkillBank.open()
    import_cards(other, file)
    assert {made.retrieved for made in other.cards()} == {0}
    import_cards(bank, file)
    assert sum(made.retrieved for made in bank.cards()) == 3


def test_an_edited_card_takes_its_own_place_and_keeps_its_record(tmp_path):
    bank, file = filled(), tmp_path / "bank.md"
    text = dumps(bank.cards(), "md").replace("{entity} spouse record", "{entity} wed")
    file.write_text(text, encoding="utf-8")
    before = bank.cards()
    assert import_cards(bank, file).changed == ("card-spouse",)
    after = bank.cards()
    assert [made.id for made in after] == [made.id for made in before]
    assert next(made for made in after if made.id == "card-spouse") == replace(before[15], queries=("{entity} wed",))
    # Its embedding follows: the bank read anew finds the same.
    assert diff(before, after) == ["~ card-spouse queries: ('{entity} spouse record',) -> ('{entity} wed',)"]
    assert bank.snapshot().retrieve(["spouse wed"])[0][0].card.id == "card-spouse"


def test_a_card_like_another_is_passed_over_and_told(tmp_path):
    bank, file = filled(), tmp_path / "more.jsonl"
    file.write_text(dumps([card("spouse", "twin"), card("river")], "jsonl"), encoding="utf-8")
    report = import_cards(bank, file)
    assert (report.added, report.refused) == (("card-river",), ("twin",))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            dumps([card("river"), replace(card("fungus"), avoid=" ")], "jsonl"),
            "more.jsonl:2: the card 'card-fungus' cannot enter",
        ),
        (
            dumps([card("river"), card("author", "card-spouse")], "jsonl"),
            "more.jsonl:2: the edited card 'card-spouse' is too much",
        ),
        (dumps([card("river"), replace(card("fungus"), id="a\nb\x00")], "jsonl"), "more.jsonl:2: the card"),
        (dumps([card("river"), replace(card("fungus"), retrieved=2**70)], "jsonl"), "more.jsonl:2: the card"),
        (dumps([card("river"), replace(card("fungus"), hurt=float("nan"))], "jsonl"), "more.jsonl:2: the card"),
    ],
)
def test_an_import_is_all_or_nothing(tmp_path, monkeypatch, text, fault):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more.jsonl").write_text(text, encoding="utf-8")
    bank = filled()
    digest = bank.digest()
    with pytest.raises(ConfigError) as error:
        import_cards(bank, "more.jsonl")
    assert str(error.value).startswith(fault)
    assert bank.digest() == digest


def test_a_difference_is_a_line():
    old, new = [card("spouse"), card("author")], [replace(card("author"), retrieved=2), card("river")]
    assert diff(old, new) == ["- card-spouse", "+ card-river", "~ card-author retrieved: 0 -> 2"]
    assert diff(old, old) == []


def test_jsonl_holds_one_card_a_line():
    lines = dumps(SEEDS, "jsonl").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [seed.id for seed in SEEDS]
