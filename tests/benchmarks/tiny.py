"""A tiny copy of the real benchmarks' layout, and players for it."""

import json
import time
from pathlib import Path

BENCHMARKS = ("nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle")
PEOPLE = ("Ada Brandt", "Ole Krogh", "Mia Sørby", "Jon Vinter")
TOWNS = ("Ravnby", "Skovlund", "Tårnhøj", "Engmose")


def write_data(root: Path) -> Path:
    """Seven benchmarks of four questions on four passages each."""
    for benchmark in BENCHMARKS:
        folder = root / benchmark
        folder.mkdir(parents=True)
        rows = [
            {"id": f"q{number}", "question": f"In which town was {person} born?", "golden_answers": [town]}
            for number, (person, town) in enumerate(zip(PEOPLE, TOWNS, strict=True))
        ]
        passages = [
            {"id": f"p{number}", "contents": f'"{person}"\n{person} was born in {town} and wrote for {benchmark}.'}
            for number, (person, town) in enumerate(zip(PEOPLE, TOWNS, strict=True))
        ]
        (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in passages), encoding="utf-8")
    return root


class Bold:
    """Searches once and takes its time; answers the first town that it reads, but only if it was shown a card."""

    def act(self, view):
        time.sleep(0.01)
        if not view.searches:
            return f"<search>{view.question}</search>"
        texts = " ".join(passage.text for call in view.searches for passage in call.passages)
        known = [town for town in TOWNS if town in texts]
        return f"<answer>{known[0] if known and view.cards else 'unknown'}</answer>"


def bold(world, seed=0):
    return Bold()
