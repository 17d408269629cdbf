"""The hand-written core of relations: what a question calls them, and what passages say instead.

Each row is (subject kind, object kind, (low, high) of values, two nouns of questions, two sentences of passages). In a sentence
{s} is the subject and {o} the object. Nouns and sentences of a relation share no content word, and no two relations share a
noun. The first sixteen touch every kind of entity.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """One relation as written by hand."""

    subject: str
    object: str
    span: tuple[int, int]
    nouns: tuple[str, ...]
    sentences: tuple[str, ...]


_NONE = (0, 0)
_BIRTHS = (1925, 1969)
_EVENTS = (1990, 2024)

CORE: tuple[Row, ...] = (
    Row(
        "person", "city", _NONE, ("birthplace", "home town"),
        ("{s} drew first breath in {o}.", "{s} came into the world at {o}."),
    ),
    Row(
        "film", "person", _NONE, ("director", "auteur"),
        ("{o} called the shots on {s}.", "Cameras for {s} rolled under {o}."),
    ),
    Row(
        "book", "person", _NONE, ("author", "writer"),
        ("{s} flowed from the pen of {o}.", "{o} scribbled every chapter of {s}."),
    ),
    Row(
        "person", "date", _BIRTHS, ("date of birth", "birthday"),
        ("{s} was delivered by a midwife on {o}.", "{s} saw daylight first on {o}."),
    ),
    Row(
        "company", "person", _NONE, ("founder", "originator"),
        ("{o} set up {s} with borrowed cash.", "{o} started {s} inside a shed."),
    ),
    Row(
        "city", "country", _NONE, ("nation", "sovereign state"),
        ("{s} falls inside the borders of {o}.", "Maps show {s} within {o}."),
    ),
    Row(
        "country", "city", _NONE, ("capital", "seat of government"),
        ("{o} houses the parliament of {s}.", "Ministers of {s} meet at {o}."),
    ),
    Row(
        "film", "date", _EVENTS, ("release date", "day of premiere"),
        ("{s} reached the cinemas on {o}.", "Audiences could watch {s} from {o}."),
    ),
    Row(
        "person", "company", _NONE, ("employer", "workplace"),
        ("{s} draws a salary from {o}.", "{s} is on the payroll at {o}."),
    ),
    Row(
        "person", "university", _NONE, ("alma mater", "place of study"),
        ("{s} earned a degree at {o}.", "{s} sat gruelling examinations at {o}."),
    ),
    Row(
        "band", "person", _NONE, ("lead singer", "vocalist"),
        ("{o} fronts {s} at the microphone.", "The voice heard with {s} belongs to {o}."),
    ),
    Row(
        "team", "person", _NONE, ("coach", "head trainer"),
        ("{o} drills the players of {s}.", "{o} picks the line-up for {s}."),
    ),
    Row(
        "ship", "person", _NONE, ("captain", "skipper"),
        ("{o} commands the bridge of {s}.", "{o} stands at the helm of {s}."),
    ),
    Row(
        "university", "year", (1400, 1899), ("founding year", "year of establishment"),
        ("{s} opened its gates to scholars in {o}.", "Lectures at {s} began in {o}."),
    ),
    Row(
        "person", "person", _NONE, ("mentor", "teacher"),
        ("{s} learnt the craft from {o}.", "{s} was apprenticed to {o}."),
    ),
    Row(
        "city", "person", _NONE, ("mayor", "burgomaster"),
        ("{o} wears the golden chain in {s}.", "{o} cuts civic ribbons in {s}."),
    ),
    Row(
        "company", "city", _NONE, ("headquarters", "main base"),
        ("{s} directs its business out of {o}.", "The boardroom of {s} overlooks {o}."),
    ),
    Row(
        "city", "number", (10_000, 999_999), ("population", "number of inhabitants"),
        ("A census counted {o} people in {s}.", "The streets of {s} shelter {o} souls."),
    ),
    Row(
        "film", "person", _NONE, ("leading actor", "star"),
        ("{o} plays the hero of {s}.", "{o} tops the bill in {s}."),
    ),
    Row(
        "book", "company", _NONE, ("publisher", "issuing house"),
        ("{o} brought {s} into the bookshops.", "The cover of {s} bears the imprint of {o}."),
    ),
    Row(
        "band", "city", _NONE, ("place of formation", "origin"),
        ("{s} gave its earliest concert in {o}.", "The members of {s} became friends in {o}."),
    ),
    Row(
        "team", "city", _NONE, ("home ground", "host town"),
        ("{s} entertains opponents in {o}.", "The turf of {s} is laid in {o}."),
    ),
    Row(
        "university", "person", _NONE, ("rector", "chancellor"),
        ("{o} presides over the senate of {s}.", "{o} hands diplomas to graduates of {s}."),
    ),
    Row(
        "ship", "city", _NONE, ("home port", "harbour of registry"),
        ("{s} is moored between voyages at {o}.", "{s} winters by the quays of {o}."),
    ),
    Row(
        "book", "date", _EVENTS, ("publication date", "day of issue"),
        ("Readers could buy {s} from {o}.", "{s} went on sale on {o}."),
    ),
    Row(
        "ship", "company", _NONE, ("builder", "shipyard"),
        ("{o} riveted the hull of {s}.", "The keel of {s} was forged by {o}."),
    ),
    Row(
        "country", "person", _NONE, ("head of state", "president"),
        ("{o} signs the laws of {s}.", "Banknotes of {s} depict {o}."),
    ),
    Row(
        "person", "city", _NONE, ("burial place", "final resting place"),
        ("{s} lies in a grave at {o}.", "The tomb of {s} may be seen in {o}."),
    ),
    Row(
        "film", "person", _NONE, ("composer", "soundtrack creator"),
        ("{o} wrote the melodies for {s}.", "Violins in {s} follow the notes of {o}."),
    ),
    Row(
        "university", "city", _NONE, ("campus", "location"),
        ("{s} lodges its students in {o}.", "The lecture halls of {s} fill a quarter of {o}."),
    ),
    Row(
        "country", "year", (1700, 1989), ("independence year", "year of liberation"),
        ("{s} threw off imperial rule in {o}.", "The tricolour of {s} has flown since {o}."),
    ),
    Row(
        "company", "number", (10_000, 999_999), ("workforce", "headcount"),
        ("{s} pays wages to {o} labourers.", "Some {o} badges open the factories of {s}."),
    ),
    Row(
        "team", "company", _NONE, ("owner", "proprietor"),
        ("{o} holds the shares of {s}.", "{o} foots the bills for {s}."),
    ),
    Row(
        "ship", "date", _EVENTS, ("launch date", "day of christening"),
        ("{s} slid into the water on {o}.", "{s} has floated since {o}."),
    ),
    Row(
        "band", "company", _NONE, ("record label", "recording firm"),
        ("{s} signed a contract with {o}.", "The albums of {s} are pressed by {o}."),
    ),
    Row(
        "film", "book", _NONE, ("literary source", "original novel"),
        ("{s} retells the plot of {o}.", "The screenplay of {s} adapts {o}."),
    ),
    Row(
        "person", "person", _NONE, ("rival", "adversary"),
        ("{s} nursed a lifelong feud against {o}.", "{s} quarrelled for decades with {o}."),
    ),
    Row(
        "book", "person", _NONE, ("dedicatee", "honouree"),
        ("{s} begins with thanks to {o}.", "The flyleaf of {s} salutes {o}."),
    ),
)  # fmt: skip

CORE_RELATIONS = len(CORE)
"""The relations that every world begins with; what it has beyond them is its procedural tail."""
