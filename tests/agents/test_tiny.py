"""The built-in model and its tokenizer: a closed vocabulary, cut in one way, that reads back as it was written."""

import re

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from agents.policy import load_policy
from agents.tiny import CONTEXT, TinyShape, is_tiny, load_tiny, tiny_model, tiny_tokenizer
from agents.tiny_vocabulary import MOST_DOCS, TAGS, check, normalise, phrases, pieces, words
from sesa_env.corpus.miniwiki import BENCHMARKS, MiniWiki
from sesa_env.corpus.miniwiki.names import ENDINGS, SECOND_WORDS, Names, Words
from sesa_env.errors import ConfigError
from sesa_env.game import GameConfig, SearchGame
from sesa_env.grading import exact_match
from sesa_env.protocol import render_information
from sesa_env.worlds import make_world

WORLDS = (
    {"seed": 1000, "size": 1000},
    {"seed": 1001, "size": 3000, "relations": 160, "phrasings": 4},
    {"seed": 1002, "size": 1500, "relations": 40, "phrasings": 1, "filler": 0, "aliases": 0.0},
    {"seed": 1003, "size": 4000, "relations": 512, "phrasings": 6, "filler": 1, "aliases": 1.0},
)


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer()


def ids_of(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def unknown(tokenizer, texts):
    """Returns the texts that hold something outside the vocabulary."""
    return [text for text in texts if tokenizer.unk_token_id in ids_of(tokenizer, text)]


@pytest.mark.parametrize("options", WORLDS, ids=lambda options: str(options["seed"]))
def test_all_that_a_world_writes_is_in_the_vocabulary(tokenizer, options):
    wiki = MiniWiki(**options)
    pages = [render_information([passage], 2000) for passage in wiki.passages()]
    asked = [question for name in BENCHMARKS for question in wiki.benchmark(name, 30)]
    posed = [wiki.pose(target, 0) for target in wiki.targets(60)]
    texts = [question.text for question in (*asked, *posed) if question is not None]
    answers = [answer for question in asked for answer in question.answers]
    assert len(pages) == options["size"]
    assert (
        unknown(tokenizer, [*pages, *texts, *answers, *(query for text in texts for query in wiki.ideal_queries(text))]) == []
    )


def test_what_the_game_answers_is_in_the_vocabulary(tokenizer):
    world = make_world("miniwiki", seed=1000, n_targets=1, n_questions=1)
    turns = (
        "", "<answer></answer>", "<search>x", "</search>", "<information>x</information>", "<question>x</question>",
        "<search>a<answer>", "<search>a</search><answer>b</answer>", "y" * 30_000,
    )  # fmt: skip
    shown = []
    for text in turns:
        for task in (world.questions[0], world.targets[0]):
            game = SearchGame(world, GameConfig(max_strikes=99))
            game.reset(task)
            shown.append(game.act(text).observation)
    spent = SearchGame(world, GameConfig(max_searches=1, max_turns=3))
    spent.reset(world.questions[0])
    shown += [spent.act("<search>zzz</search>").observation for _ in range(2)]
    assert sum("Error" in text for text in shown) > 10
    assert any("last turn" in text for text in shown)
    assert unknown(tokenizer, shown) == []


def test_cards_of_the_scripted_teacher_are_in_the_vocabulary(tokenizer):
    text = 'The question asks for "date of birth". {entity} midwife | {bridge} {entity}'
    assert unknown(tokenizer, [text]) == []
    pieces_of = tokenizer.convert_ids_to_tokens(ids_of(tokenizer, text))
    assert pieces_of[0] == ' the question asks for "'
    assert " {entity}" in pieces_of


def test_an_unknown_word_is_unknown(tokenizer):
    assert unknown(tokenizer, ["a zeppelin"]) == ["a zeppelin"]


@pytest.mark.parametrize("kind", ENDINGS)
@pytest.mark.parametrize("size", [20, 2000, 200_000])
def test_an_invented_word_is_syllables_and_an_ending(tokenizer, kind, size):
    supply = Words(1000, kind, size)
    endings = set(ENDINGS[kind])
    for index in range(0, size, max(1, size // 200)):
        word = supply[index]
        if word in words():
            continue
        cut = tokenizer.convert_ids_to_tokens(ids_of(tokenizer, word))
        assert "".join(cut) == f" {word}"
        assert cut[-1] in endings
        assert all(re.fullmatch(r" ?[b-df-hj-np-tv-z]+[aeiou]", piece) for piece in cut[:-1])


def test_names_read_back_as_right_answers(tokenizer):
    halves = dict.fromkeys(("person", *SECOND_WORDS, "city", "country"), 200)
    names = Names(1000, halves, 1.0)
    for kind in halves:
        for index in range(60):
            name = names.name(kind, index)
            turn = tokenizer.decode(ids_of(tokenizer, f"<answer>{name}</answer>"), skip_special_tokens=False)
            written = re.fullmatch(r"<answer>(.*)</answer>", turn)[1]
            assert exact_match(written, [name])
            assert written.strip() == name.lower()


@pytest.mark.parametrize("value", ["19 January 1990", "1 May 2000", "1415", "717,954", "10,000", "1990-01-09"])
def test_values_read_back_as_right_answers(tokenizer, value):
    assert exact_match(tokenizer.decode(ids_of(tokenizer, value)), [value])


def test_questions_read_back_into_their_form(tokenizer):
    wiki = MiniWiki(**WORLDS[1])
    for question in wiki.questions(60):
        assert wiki.verify(tokenizer.decode(ids_of(tokenizer, question.text))) == wiki.verify(question.text)


def test_each_tag_is_one_piece_and_keeps_its_form(tokenizer):
    for tag in TAGS:
        ids = ids_of(tokenizer, tag)
        assert len(ids) == 1
        assert tokenizer.decode(ids, skip_special_tokens=False) == tag


def test_fixed_phrases_are_one_piece_each(tokenizer):
    assert len(phrases()) > 100
    for phrase in phrases():
        cut = tokenizer.convert_ids_to_tokens(ids_of(tokenizer, f"brenelle{phrase}"))
        assert cut[2:] == [phrase]


def test_headings_are_one_piece_each(tokenizer):
    for rank in range(1, MOST_DOCS + 1):
        cut = tokenizer.convert_ids_to_tokens(ids_of(tokenizer, f'Doc {rank} (Title: "Kemora") Kemora'))
        assert cut == [normalise(f'doc {rank} (title: "'), " ke", "mora", ' " )', " ke", "mora"]


def test_the_vocabulary_has_no_doubles_and_passes_its_own_check():
    check()
    assert len(pieces()) == len(set(pieces()))
    assert pieces()[0] == "<pad>"


def test_an_ambiguous_ending_is_refused(monkeypatch):
    monkeypatch.setitem(ENDINGS, "extra", ("ora",))
    with pytest.raises(AssertionError, match="'ora' ends 'mora'"):
        check()


def test_it_saves_and_loads_as_any_other_model(tmp_path, tokenizer):
    model = tiny_model(TinyShape(hidden=32, layers=1, heads=2, feed_forward=48), seed=3).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = '<search> Brenelle Queen commands</search><information>\nDoc 1 (Title: "Brenelle Queen") 12,345.\n</information>'
    ids = ids_of(tokenizer, text)
    assert ids_of(reader, text) == ids
    assert reader.decode(ids) == tokenizer.decode(ids)
    assert (reader.pad_token, reader.eos_token, reader.unk_token) == ("<pad>", "<eos>", "<unk>")
    with torch.no_grad():
        assert torch.equal(again(torch.tensor([ids])).logits, model(torch.tensor([ids])).logits)


def test_weights_are_the_seeds_and_leave_the_global_generator_alone():
    before = torch.random.get_rng_state()
    one, same, other = (tiny_model(seed=seed).state_dict()["model.embed_tokens.weight"] for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_shipped_model_is_small_and_whole():
    model, tokenizer = load_tiny()
    assert 400_000 <= sum(weight.numel() for weight in model.parameters()) <= 900_000
    assert model.dtype is torch.float32
    assert model.config.tie_word_embeddings
    assert model.config.max_position_embeddings == CONTEXT
    assert [tokenizer.convert_ids_to_tokens(index) for index in range(len(pieces()))] == pieces()


def test_its_tokenizer_is_known_by_its_vocabulary(tokenizer):
    assert is_tiny(tokenizer)
    assert is_tiny(load_tiny()[1])
    grown = tiny_tokenizer()
    grown.add_tokens(["another"])
    assert not is_tiny(grown)


def test_it_is_a_policy_by_name():
    policy = load_policy("tiny")
    assert policy.style.name == "tiny"
    closing = policy.tokenizer.convert_tokens_to_ids("</answer>")
    assert policy.stops.ends([closing])


def test_a_missing_directory_is_told(tmp_path):
    with pytest.raises(ConfigError, match="warmstart"):
        load_tiny(tmp_path / "nowhere")
