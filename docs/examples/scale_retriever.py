"""From a file of passages to a search tool on disk that any number of environments share."""

import json
import sys
import tempfile
from pathlib import Path

from sesa_env import make_world
from sesa_env.cli import main
from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.search.opening import open_corpus, open_index

passages = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
folder = Path(tempfile.mkdtemp())

# 1. A corpus, one JSON object a line; here MiniWiki's, streamed, so a million of them need no more memory than a thousand.
wiki = MiniWiki(seed=1, size=passages)
corpus = folder / "corpus.jsonl"
with corpus.open("w", encoding="utf-8") as file:
    for passage in wiki.passages():
        file.write(json.dumps({"id": passage.id, "title": passage.title, "text": passage.text}) + "\n")

# 2. An index of it, built once from the stream. On a command line: sesa index build INDEX --corpus corpus.jsonl
assert main(["index", "build", str(folder / "index"), "--corpus", str(corpus)]) == 0

# 3. Opened in a moment, mapped into memory, whatever its size.
tool = open_index(folder / "index")
print(f"{len(open_corpus(folder / 'index')):,} passages; best hit: {tool.search(['mayor of a town'], k=1)[0][0].title}")

# 4. Questions of your own on it: a folder in FlashRAG's layout, and `index` in place of its own passages.
question = wiki.questions(1, split="test", seed=0)[0]
(folder / "data" / "mine").mkdir(parents=True)
line = {"id": "q0", "question": question.text, "golden_answers": list(question.answers)}
(folder / "data" / "mine" / "test.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
world = make_world("flashrag", data=str(folder / "data"), index=str(folder / "index"), n_targets=0)
print(f"asked: {world.questions[0].text}")
print(f"found: {world.retriever.search([world.questions[0].text], k=3)[0][0].title}")
