"""A person at a seat: reads lines, plays turns, tells what comes of them."""

from collections.abc import Callable

from sesa_env.env import SearchEnv
from sesa_env.protocol import clean
from sesa_env.terminal.hints import FINISH, after, help_text, not_sent
from sesa_env.transcript import tell_outcome
from sesa_env.types import Role

Ask = Callable[[str], str]
"""Shows a prompt and returns the line that was typed; raises EOFError when there are no more."""
Tell = Callable[[str], object]
"""Shows a text."""


class PersonAtSeat:
    """Lets a person play the turns of an environment that are not played inside.

    Args:
        env: an environment with a running episode.
        ask: reads a line.
        tell: shows a text.
    """

    def __init__(self, env: SearchEnv, ask: Ask, tell: Tell) -> None:
        self._env = env
        self._ask = ask
        self._tell = tell
        self._asides = {"help": self._help, "prompt": self._prompt, "history": self._history, "cards": self._cards}

    def play(self, *, resumed: bool = False) -> bool:
        """Plays until the episode is over or the person leaves.

        Args:
            resumed: the game was left before, so its history is shown first.

        Returns:
            True if the episode is over, False if it can go on.
        """
        self._prompt()
        if resumed:
            self._history()
        while self._env.game.actor is not None:
            try:
                line = self._ask(self._mark()).strip()
            except (EOFError, KeyboardInterrupt):
                return False
            if line == "quit":
                return False
            self._take(line)
        self._tell(tell_outcome(self._env.game))
        return True

    def _mark(self) -> str:
        view = self._env.view()
        return f"{view.role.value}, {view.turns_left} turns and {view.searches_left} searches left > "

    def _take(self, line: str) -> None:
        """Does what a line says."""
        role = self._env.view().role
        if (aside := self._asides.get(line)) is not None:
            aside()
        elif turn := as_turn(line, role):
            self._send(turn, role)
        elif line:
            self._tell(not_sent(role))

    def _send(self, turn: str, role: Role) -> None:
        game = self._env.game
        seat, written = game.state.seat, len(game.state.transcript)
        shown, *_ = self._env.step(turn)
        assert seat is not None  # a line is taken at a person's turn alone
        if hint := after(game.state.transcript[written].event, role, game.config.max_strikes - seat.strikes):
            shown = f"{shown}\n{hint}" if shown else hint
        if shown:
            self._tell(shown)

    # ---- what costs no turn -----------------------------------------------------------------------------------------

    def _help(self) -> None:
        self._tell(help_text(self._env.view().role))

    def _prompt(self) -> None:
        self._tell(self._env.view().prompt)

    def _history(self) -> None:
        turns = self._env.view().turns
        lines = [f"{number}. {text}\n{observation}" for number, (text, observation) in enumerate(turns, 1)]
        self._tell("\n".join(lines) or "You have written nothing yet.")

    def _cards(self) -> None:
        hits = self._env.view().cards
        lines = [f"{hit.card.id}, cosine {hit.similarity:.3f}: {clean(hit.card.description)}" for hit in hits]
        if not lines and self._env.game.memory is not None and self._env.game.actor is Role.SOLVER:
            lines = ["The memory abstains: it holds no card near enough to this question."]
        self._tell("\n".join(lines) or "You are shown no cards: only a Solver is, with --memory seeds or a bank's path.")


def as_turn(line: str, role: Role) -> str:
    """Turns a typed line into the turn that it means.

    Args:
        line: "search WORDS", "answer WORDS" or "question WORDS", whichever the seat has; or a text with tags.
        role: who types it.

    Returns:
        The turn, as the game reads it; "" if the line means none.
    """
    if line.startswith("<"):
        return line
    word, _, rest = line.partition(" ")
    if word not in ("search", FINISH[role]) or not rest.strip():
        return ""
    return f"<{word}>{rest.strip()}</{word}>"
