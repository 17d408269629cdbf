"""The page's text and data: it holds what was recorded, is one file, and the same experiment gives the same bytes."""

import re
import shutil
from html.parser import HTMLParser

import pytest

pytest.importorskip("torch", reason="needs the llm extra")

from benchmarks.experiment.claims import Claim, judge
from benchmarks.experiment.design import EXPERIMENTS, MAIN
from benchmarks.experiment.page import PAGE, assemble, write_page
from benchmarks.experiment.page.assemble import collected, filled, page
from benchmarks.experiment.page.packing import Pool, packed, unpacked
from benchmarks.experiment.page.plots import colours
from benchmarks.experiment.page.replay import CUT_OFF, Replayer
from benchmarks.experiment.results import Results
from benchmarks.experiment.training import stage_directory
from benchmarks.render import Column, Table
from benchmarks.stats import Estimate
from benchmarks.suites import open_world
from sesa_env.game import SearchGame
from sesa_env.memory.store import BankStore
from tests.benchmarks.experiment import synthetic

MADE = synthetic.experiment(questions=2, tails=False)
SIDES = 8  # base and SESA Off and On, SSP and shaping alone Off, and two controls of SESA
TABLE = Table(
    "main",
    "A <caption>",
    (Column("arm", "Arm"), Column("em", "EM", "percent")),
    (({"arm": "a<b>", "em": 0.5},),),
    ("A & `note`.",),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return synthetic.write(MADE, tmp_path_factory.mktemp("experiment"))


@pytest.fixture(scope="module")
def data(root):
    return collected(Results(MADE, root))


def judged(*bounds):
    claims = [Claim(f"claim {place} <i>", "main", ("a", "off"), ("b", "off")) for place in range(len(bounds))]
    return judge(claims, [Estimate((low + high) / 2, low, high, (high - low) / 4, 1000) for low, high in bounds])


class Tags(HTMLParser):
    """Collects what a browser would load or run, and complains of tags that do not close."""

    VOID = frozenset({"meta", "input", "br", "line", "circle", "link", "img", "wbr"})

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_it_is_one_whole_file_that_asks_for_nothing(root):
    text = page(Results(MADE, root), judged((0.1, 0.2)), [TABLE])
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    assert not [tag for tag, attributes in tags.seen if tag in ("link", "img", "iframe") or "src" in attributes]
    assert set(re.findall(r"https?://[\w./]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in text
    assert "A &amp; <code>note</code>." in text


def test_benchmarks_have_their_full_names_and_flips_are_by_kind_too(data):
    assert data["answers"]["benchmarks"]["musique"] == "miniwiki/musique"
    flips = {one["arm"]: one["by"] for one in data["plots"]["flips"]}
    assert set(flips) == {"base", "sesa"}
    assert [row[0] for row in flips["sesa"]["benchmark"]] == list(data["answers"]["benchmarks"].values())
    # What the page's own list of answers would count: wrong Off, right On, by kind.
    sides, questions = data["answers"]["sides"], data["answers"]["questions"]
    right = {(question, tuple(sides[side])): em for question, side, em, *_ in data["answers"]["attempts"]}
    gained = sum(not right[n, ("sesa", "off")] and right[n, ("sesa", "on")] for n in range(len(questions)))
    assert sum(row[1] for row in flips["sesa"]["kind"]) == gained
    assert sum(row[3] for row in flips["sesa"]["kind"]) == len(questions)


def test_studies_come_in_the_designs_order_the_main_one_first(data):
    assert data["plots"]["titles"] == [[study.name, study.title] for study in MADE.studies]
    assert all(made.studies[0].name == MAIN for made in EXPERIMENTS.values())


def test_no_two_arms_of_a_study_have_one_colour(data):
    for study in (study for made in EXPERIMENTS.values() for study in made.studies):
        found = colours(study.arms)
        assert list(found) == list(study.arms)
        assert len(set(found.values())) == len(study.arms)
        assert found.get("sesa", "#0072B2") == "#0072B2"
    assert data["plots"]["colours"] == {study.name: colours(study.arms) for study in MADE.studies}
    with pytest.raises(ValueError, match="shorter"):
        colours([f"arm-{number}" for number in range(20)])


def test_what_a_solver_wrote_never_becomes_markup(root, data):
    text = page(Results(MADE, root), judged((0.1, 0.2)), [TABLE])
    assert synthetic.HOSTILE in "".join(data["place-main-0"]["texts"])
    assert "onerror" not in text
    assert "A &lt;caption&gt;" in text
    assert "a&lt;b&gt;" in text
    assert "claim 0 &lt;i&gt;" in text


def test_the_same_experiment_gives_the_same_bytes(root):
    results = [Results(MADE, root) for _ in range(2)]
    first, second = (write_page(one, judged((0.1, 0.2)), [TABLE]).read_bytes() for one in results)
    assert first == second
    assert (root / PAGE).read_bytes() == first


def test_the_claims_come_first_with_verdicts_from_their_intervals(root):
    text = page(Results(MADE, root), judged((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)), [TABLE])
    assert re.findall(r'class="verdict (\w+)">([^<]+)', text) == [
        ("holds", "holds"), ("reversed", "reversed"), ("open", "not established"),
    ]  # fmt: skip
    assert text.index('id="claims"') < text.index('id="tables"')


def test_each_claim_tells_the_level_of_its_interval_and_its_unit(root):
    text = page(Results(MADE, root), judged((0.1, 0.2), (-0.1, 0.1)), [TABLE])
    assert re.findall(r'<td class="number">([\d.]+)</td><td>(\w+)</td>', text) == [("97.5", "points"), ("95.0", "points")]
    assert "false verdicts over the whole table" in text
    assert "no joint coverage" in text


def test_the_page_tells_the_revisions_of_the_code(root):
    results = Results(MADE, root)
    assert results.revisions() == {"1" * 12: 4, f"{'2' * 12} with changes": 4}
    text = page(results, [], [TABLE])
    assert f"<li><code>{'1' * 12}</code>: 4</li><li><code>{'2' * 12} with changes</code>: 4</li>" in text


def test_one_seed_draws_no_claim(root):
    text = page(Results(MADE, root), [], [TABLE])
    assert "One seed: no claim is drawn." in text
    assert 'class="verdict' not in text


def test_every_answer_is_there_as_it_was_recorded(root, data):
    records = Results(MADE, root).records(MADE.studies[0], 4)
    answers = data["answers"]
    shown = set()
    for question, side, right, prediction, end, cards in answers["attempts"]:
        seed, benchmark, name, *_ = answers["questions"][question]
        arm, mode = answers["sides"][side]
        shown.add((arm, mode, seed, benchmark, name, right, prediction, end, len(cards)))
    assert shown == {
        (r["arm"], r["mode"], r["seed"], r["benchmark"], r["id"], int(r["em"]), r["prediction"], r["end"], len(r["cards"]))
        for r in records
    }
    assert len(answers["attempts"]) == len(records) == SIDES * 7 * 2 * 2


def test_passages_are_those_that_the_search_brings(data):
    answers, world = data["answers"], open_world(synthetic.world_of(next(MADE.studies[0].cells("quick"))))
    place = data["place-main-0"]
    for number, turns in list(place["attempts"].items())[:20]:
        text, event, passages = turns[0]
        query = place["texts"][text].removeprefix("<search>").removesuffix("</search>").strip()
        assert event == "search"
        assert [place["passages"][at][0] for at in passages] == [hit.id for hit in world.retriever.search([query], 2)[0]]
        assert turns[-1][1] == "answer"
        question = answers["attempts"][number][0]
        assert place["evidence"][question]


def test_cards_of_answers_and_of_banks_are_the_same(data):
    cards, answers = data["cards"], data["answers"]
    shown = {card for *_, found in answers["attempts"] for card, _ in found}
    assert shown
    assert all(isinstance(card, int) for card in shown)
    for question, side, *_, found in answers["attempts"]:
        for card, _ in found:
            _, arm, seed = cards["banks"][cards["cards"][card]["b"]]
            assert (arm, seed) == (answers["sides"][side][0], answers["questions"][question][0])


def test_a_card_leads_to_its_failure_and_its_end(root, data):
    cards = data["cards"]["cards"]
    born = [card for card in cards if card["f"] >= 0]
    assert born
    assert any(card["x"] == [9, "harmful"] for card in born)
    for card in born:
        _, _, seed = data["cards"]["banks"][card["b"]]
        failure = data[f"place-main-{seed}"]["failures"][card["f"]]
        assert failure["prediction"] == "wrong answer"
        assert [event for _, event, _ in failure["turns"]] == ["search", "answer"]
        assert card["v"] == tuple(name for name, _ in failure["cards"])
        assert card["e"] == ()
    assert any(data["place-main-0"]["shown"])


def test_proposals_say_why_they_were_rejected(data):
    proposals = data["posed"]["proposals"]
    assert {one["reason"] for one in proposals} == {"", "words"}
    assert {one["arm"] for one in proposals} == {"ssp", "shaping-only", "sesa"}
    for one in proposals:
        assert [event for _, event, _ in one["turns"]] == [
            "search",
            f"rejected:{one['reason']}" if one["reason"] else "question",
        ]
        assert one["turns"][0][2]


def test_room_for_few_transcripts_is_shared_evenly_and_keeps_pairs_whole(root):
    found = collected(Results(MADE, root), most=SIDES * 7 * 2)
    answers, chosen = found["answers"], {}
    for seed in (0, 1):
        for number in found[f"place-main-{seed}"]["attempts"]:
            question, side, *_ = answers["attempts"][number]
            chosen.setdefault(tuple(answers["questions"][question][:2]), []).append((question, side))
    assert answers["shown"] == SIDES * 7 * 2
    assert answers["transcripts"] == sorted({question for pairs in chosen.values() for question, _ in pairs})
    assert len(chosen) == 14
    assert all(len({question for question, _ in pairs}) == 1 and len(pairs) == SIDES for pairs in chosen.values())
    assert len(answers["attempts"]) == 2 * SIDES * 7 * 2


def test_what_is_not_in_the_directory_is_not_on_the_page(root, tmp_path):
    """An experiment of an older release, or one of which the records alone were kept."""
    copy = shutil.copytree(root, tmp_path / "copy")
    for path in (*copy.rglob("plan.json"), *copy.rglob("bank.sqlite"), *copy.rglob("posed.jsonl")):
        path.unlink()
    found = collected(Results(MADE, copy))
    assert found["cards"]["cards"] == []
    assert found["posed"]["proposals"] == []
    assert len(found["answers"]["attempts"]) == SIDES * 7 * 2 * 2
    turns = next(iter(found["place-main-0"]["attempts"].values()))
    assert [(event, passages) for _, event, passages in turns] == [("", []), ("", [])]


def test_answers_of_another_world_are_shown_without_passages(root, tmp_path):
    copy = shutil.copytree(root, tmp_path / "copy")
    for path in copy.rglob("records/*/*.jsonl"):
        path.write_text(re.sub(r'"world": "\w+"', '"world": "another"', path.read_text()))
    found = collected(Results(MADE, copy))
    assert all(not passages for turns in found["place-main-0"]["attempts"].values() for _, _, passages in turns)


def test_reading_a_bank_for_the_page_leaves_it_as_it_was(root):
    path = stage_directory(root, "main-sesa-s0", 4) / "bank.sqlite"
    before = path.read_bytes()
    with BankStore(path, create=False) as store:
        digest = store.digest()
    collected(Results(MADE, root))
    with BankStore(path, create=False) as store:
        assert store.digest() == digest
    assert path.read_bytes() == before


def replay(texts, **rules):
    cell = next(MADE.studies[0].cells("quick"))
    world = open_world(synthetic.world_of(cell))
    question = world.graph.benchmark("nq", 1, split="test", seed=0)[0]
    (lines,) = Replayer(world, {**synthetic.RULES, **rules}).play([question], [texts])
    game = SearchGame(world, Replayer(world, {**synthetic.RULES, **rules}).rules)
    game.reset(question, cards=())
    return lines, game


@pytest.mark.parametrize(
    "texts",
    [
        ["<search>the city</search>", "nonsense", "<search>the city</search>", "<answer>x</answer>"],
        ["<search>a b</search>"] * 5,
        ["nonsense"] * 3,
        ["<search>a</search>", "<search>b</search>", "<search>c</search>", "<search>d</search>", "<answer>x</answer>"],
    ],
)
def test_a_replay_is_the_episode(texts):
    lines, game = replay(texts)
    outcomes = [game.act(text) for text in texts]
    assert [line.event for line in lines] == [outcome.event for outcome in outcomes]
    found = [line.passages for line in lines if line.event == "search"]
    assert found == [call.passages for call in game.attempts[0].searches[: len(found)]]


def test_a_turn_that_the_budget_cut_is_marked():
    lines, _ = replay(["<search>the city</search>", "<answer>half an ans"])
    assert [line.event for line in lines] == ["search", CUT_OFF]


def test_texts_behind_the_end_are_kept():
    lines, _ = replay(["<answer>x</answer>", "more"])
    assert [(line.text, line.event) for line in lines] == [("<answer>x</answer>", "answer"), ("more", "")]


def test_packing():
    value = {"text": "ünder \ud800 </script>", "numbers": [1, 2.5, None]}
    assert unpacked(packed(value)) == value
    assert re.fullmatch(r"[\w+/=]+", packed(value))
    with pytest.raises(ValueError, match="JSON"):
        packed(float("nan"))
    pool = Pool()
    assert [pool.place(item) for item in ("a", "b", "a")] == [0, 1, 0]
    assert pool.items == ["a", "b"]


def test_a_part_that_looks_like_a_place_is_left_alone():
    assert filled("<p>{{one}}</p>{{two}}", {"one": "{{two}}", "two": "2"}) == "<p>{{two}}</p>2"


def test_every_script_is_part_of_the_page():
    written = {path.stem for path in assemble.TEMPLATES.glob("*.js")}
    assert written == set(assemble.SCRIPTS)
