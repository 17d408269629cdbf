"""The fifteen cards written by hand that prime a bank (paper, section 4). They are permanent.

Each card is advice for a person or a model, and a rule that a program can follow: the quoted phrases of the trigger are words
of the questions that it fits, with three dots for a gap; {entity} in a query is the name that the search starts from, and the
queries of a card are alternatives, the best first. A trigger without quoted phrases is for readers alone. No card names
anything: what holds for one name only is no skill.
"""

from sesa_env.memory.base import Provenance, SkillCard


def _seed(name: str, description: str, trigger: str, avoid: str, *queries: str) -> SkillCard:
    return SkillCard(f"seed-{name}", description, trigger, avoid, queries, permanent=True, provenance=Provenance(origin="seed"))


SEEDS: tuple[SkillCard, ...] = (
    _seed(
        "author",
        "Find who wrote a book, poem or play: search its title with the words that an encyclopaedia uses for authorship.",
        'Questions that ask "who wrote", "author of", "written by", "writer of" or "who is the author".',
        "Sending the whole question: its question words match other works better than the title does.",
        "{entity} novel written by author",
        "{entity} book by",
    ),
    _seed(
        "film-credits",
        "Find who made a film: search the title with the word film and the credit that is asked for.",
        'Questions that ask "director of", "who directed", "screenwriter for", "producer of", "composer of" or "directed by".',
        "Searching a short title alone: it finds the ordinary word or another work. Add film, and the year if it is given.",
        "{entity} film directed by",
        "{entity} film written produced music by",
    ),
    _seed(
        "song",
        "Find who performs a song or album: search its title with song, recorded and singer.",
        'Questions that ask "who sings", "who sang", "performer of", "singer of", "performer of song" or "the song".',
        "Searching a line of the lyrics as a sentence: search the title, or the rarest words of the line.",
        "{entity} song recorded by singer",
        "{entity} album by",
    ),
    _seed(
        "cast",
        "Find the actor behind a character, or the character of an actor: search the work with cast and starring.",
        'Questions that ask "who plays", "who played", "who starred", "voice of", "the actor who" or "which character".',
        "Searching the character alone: its page tells the story, while the cast stands on the page of the film or series.",
        "{entity} cast starring",
        "{entity} character played by actor",
    ),
    _seed(
        "birthplace",
        "Find where a person was born: search the full name with born in; the first sentence of a life says it.",
        'Questions that ask "where was ... born", "place of birth", "birthplace of", "in what city was ... born" or "born in".',
        "Taking the place where someone lived, worked or died for the place of birth.",
        "{entity} born in",
        "{entity} birthplace early life",
    ),
    _seed(
        "death",
        "Find when or where a person died: search the full name with died and death.",
        'Questions that ask "when did ... die", "where did ... die", "date of death", "place of death" or "cause of death".',
        "Stopping at a page of another person of that name: check the years of life.",
        "{entity} died",
        "{entity} death buried",
    ),
    _seed(
        "spouse",
        "Find whom a person married: search the full name with married, wife and husband.",
        'Questions that ask "spouse of", "wife of", "husband of", "married to" or "who did ... marry".',
        "Searching the word spouse: texts say married, wife or husband.",
        "{entity} married wife husband",
        "{entity} personal life marriage",
    ),
    _seed(
        "parents",
        "Find a person's parents or children: search the full name with son of and daughter of.",
        'Questions that ask "father of", "mother of", "\'s father", "\'s mother", "parents of", "child of" or "sibling of".',
        "Skipping a generation: a grandparent takes two searches, first the parent, then the parent's parent.",
        "{entity} son of daughter of",
        "{entity} father mother family",
    ),
    _seed(
        "place",
        "Find where a place lies or what it is the capital of: search the place with located in and the kind of region.",
        'Questions that ask "capital of", "in what country", "in which country", "located in", "what county" or "which state".',
        "Taking the nearest town of the same name: add the larger region if the question gives it.",
        "{entity} located in country capital",
        "{entity} city county state",
    ),
    _seed(
        "trade",
        "Find what someone or something is: search the name alone; its first sentence says trade, sport, genre or faith.",
        'Questions that ask "occupation", "what sport", "what genre", "religion of", "what type of" or "what kind of".',
        "Adding many words: they pull in pages about the trade instead of the one page about the name.",
        "{entity}",
        "{entity} is a professional",
    ),
    _seed(
        "date",
        "Find when something happened: search its name with date and the event's own verb: released, founded, opened.",
        'Questions that ask "when did", "when was", "what year", "in which year", "what date" or "when does".',
        "Searching when or what year: no page holds these words. Name the event instead.",
        "{entity} released founded date",
        "{entity} first began in",
    ),
    _seed(
        "count",
        "Find a number: search the thing counted with total and number, then check the year or season that the figure is for.",
        'Questions that ask "how many", "how much", "number of", "how long" or "population of".',
        "Taking the first figure on the page: read what it counts.",
        "{entity} total number of",
        "{entity} statistics record",
    ),
    _seed(
        "two-hops",
        "Split a question in two: search the inner description first, read off the name, then search that name.",
        "Questions with a chain, that describe a person or a thing instead of naming it: the spouse of the director of a film, "
        "the capital of the country where someone was born, a work whose author did something.",
        "Sending both steps as one search: no single page holds the whole chain.",
        "{entity}",
        "{bridge}",
    ),
    _seed(
        "compare",
        "Compare two things: search each name by itself for the same fact, then compare the two facts found.",
        'Questions that ask "born first", "born later", "died first", "older", "younger", "came out first" or "are both".',
        "Putting both names in one search: the better-known one takes every place.",
        "{entity}",
    ),
    _seed(
        "plain-words",
        "Turn a riddle into a search: keep its rare nouns, drop the question words, write nicknames out in full.",
        'Questions that ask "known as", "nickname of", "real name of", "what is the name of", "stands for" or "the term for".',
        "Keeping who, what, which and name in the search: they match everything and find nothing.",
        "{entity} also known as",
        "{entity} nickname name meaning",
    ),
)
