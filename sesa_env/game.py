"""The rules of the game (paper, section 1). Pure: no Gymnasium, no network, no clock, no global randomness.

An episode starts from a `Target`: the Challenger searches and poses a question; if it is valid, a group of G Solver attempts
plays it, one after the other, and their solve rate rewards the Challenger. Or it starts from a `Question` for the Solver alone.

`act` carries out a whole turn. For batches, `submit` and `resume` split it at the search: `submit` returns the query that the
turn asks for, so that many games can share one call of the retriever.
"""

import copy
from collections.abc import Sequence

import numpy as np

from sesa_env.errors import ConfigError, ProtocolError, RetrievalError, SesaError
from sesa_env.grading import contains_answer, exact_match
from sesa_env.memory.base import CardHit, MemorySnapshot
from sesa_env.players.base import View
from sesa_env.prompts import load_prompt
from sesa_env.protocol import clean, parse_turn, render_cards, render_information
from sesa_env.rewards import challenger_reward
from sesa_env.state import GameConfig, GameState, Outcome, Seat, Turn
from sesa_env.types import ROLE_NAMES, Attempt, Group, Passage, Question, Role, SearchCall, Target
from sesa_env.validity import Proposal, rag_verify, reject_reason
from sesa_env.worlds import World

__all__ = ["GameConfig", "GameState", "Outcome", "SearchGame", "Seat", "Turn"]

_ALLOWED = {Role.CHALLENGER: frozenset({"search", "question"}), Role.SOLVER: frozenset({"search", "answer"})}
_FINISH = {Role.CHALLENGER: "<question>...</question>", Role.SOLVER: "<answer>...</answer>"}
_TASK_LIMIT = 4000  # characters of a foreign question or target shown in a prompt


_NO_EPISODE = GameState(Question("", "", ("",)), 0, None, None)  # what a game holds before its first reset


class SearchGame:
    """One game. Reuse it: `reset` begins a new episode.

    Args:
        world: what is played on.
        config: the numbers in the rules.
        memory: the frozen skill memory that the Solver is shown cards from; None is Off mode. The Challenger never sees it.
    """

    def __init__(self, world: World, config: GameConfig | None = None, memory: MemorySnapshot | None = None) -> None:
        self.world = world
        self.config = config or GameConfig()
        self.memory = memory
        self.state = _NO_EPISODE
        """The running episode. Read it; only the game writes it."""

    # ---- the episode ----------------------------------------------------------------------------------------------

    def reset(
        self,
        task: Target | Question,
        seed: int = 0,
        noise: Sequence[Passage] | None = None,
        cards: Sequence[CardHit] | None = None,
    ) -> str:
        """Begins an episode.

        Args:
            task: a `Target` for the Challenger to pose about, or a `Question` for the Solver.
            seed: of all randomness in the episode: the noise documents and their shuffle; at least 0.
            noise: documents of other trajectories for RAG verification; None lets the game search for other targets' answers.
            cards: cards already retrieved for the question, to spare a look-up; None asks the memory.

        Returns:
            The first actor's prompt.
        """
        self.state = state = GameState(task, seed, None if noise is None else tuple(noise), None)
        if isinstance(task, Target):
            state.rewards[ROLE_NAMES[Role.CHALLENGER]] = {}
            return self._seat_challenger(state, task)
        if not task.text.strip():
            raise ConfigError(f"question {task.id!r}: expected a text; got {task.text!r}")
        if not task.answers:
            raise ConfigError(f"question {task.id!r}: expected at least one gold answer; got none")
        return self._open_question(state, task, cards)

    @property
    def actor(self) -> Role | None:
        """Whose turn it is; None when the episode is over or none has begun."""
        return self.state.seat.role if self.state.seat is not None else None

    @property
    def attempts(self) -> list[Attempt]:
        """The finished Solver attempts, in order."""
        return self.state.attempts

    @property
    def question(self) -> Question | None:
        """The question in play; None until a valid one is posed."""
        return self.state.question

    @property
    def group(self) -> Group | None:
        """The question with its finished attempts, for the skill memory; None before the first is finished."""
        state = self.state
        if state.question is None or not state.attempts:
            return None
        return Group(state.question, tuple(state.attempts), state.evidence)

    def view(self) -> View:
        """Returns all that the actor may see."""
        state, seat = self.state, self._seat()
        solving = seat.role is Role.SOLVER
        target = state.task if isinstance(state.task, Target) and not solving else None
        return View(
            role=seat.role,
            prompt=seat.prompt,
            turns=tuple((turn.text, turn.observation) for turn in state.transcript[seat.first_turn :]),
            question=state.question.text if solving and state.question else "",
            target=target.answer if target else "",
            hops=target.hops if target else 0,
            cards=state.cards if solving else (),
            searches=tuple(seat.searches),
            turns_left=seat.turns_left,
            searches_left=seat.searches_left,
        )

    def act(self, text: str) -> Outcome:
        """Plays one whole turn of the actor.

        Args:
            text: what it wrote; any string. Text that is not one well-formed action costs a strike and never raises.

        Returns:
            The turn: what the next actor is shown, what this one earned, and whether the episode is over.
        """
        query = self.submit(text)
        if query is None:
            return self.state.transcript[-1]
        try:
            hits = self.world.retriever.search([query], self.config.top_k)[0]
        except RetrievalError:
            return self.resume(None)
        return self.resume(hits)

    def submit(self, text: str) -> str | None:
        """Begins the actor's turn.

        Returns:
            The query that must be answered with `resume`; None when the turn is complete: it is then `state.transcript[-1]`.

        Raises:
            SesaError: no episode is running, a search is pending, or `text` is no string. Whatever the verifier or the search
                for noise raises leaves too, with the episode as it was: the same turn can be played again.
        """
        state = self.state
        seat = state.seat or self._seat()
        text = self._text(text, seat)
        seat.turns_left -= 1
        try:
            kind, content = parse_turn(text, _ALLOWED[seat.role], self.config.max_action_chars)
        except ProtocolError as error:
            self._malformed(text, str(error))
            return None
        if kind == "search":
            if seat.searches_left > 0:
                state.pending = (text, content)
                return content
            self._go_on(seat, text, f"Error: you have no searches left. Write {_FINISH[seat.role]} now.", 0.0, "over_budget")
        elif kind == "answer":
            self._end_attempt(text, content, "answered")
        else:
            try:
                self._pose(text, content)
            except Exception:
                seat.turns_left += 1
                raise
        return None

    def resume(self, passages: Sequence[Passage] | None) -> Outcome:
        """Completes a turn that asked for a search.

        Args:
            passages: what the search brought, best first; None when it could not be carried out. The player then reads that
                the tool failed, keeps the search in its budget, and gets no document.

        Returns:
            The turn.
        """
        state = self.state
        seat = state.seat or self._seat()
        if state.pending is None:
            raise SesaError("no search is pending; expected submit(text) first")
        text, query = state.pending
        state.pending = None
        if passages is None:
            seat.failed_searches += 1
            self._go_on(seat, text, "Error: the search tool failed. Search again or go on without it.", 0.0, "search_failed")
        else:
            seat.searches_left -= 1
            seat.searches.append(SearchCall(query, tuple(passages)))
            self._go_on(seat, text, render_information(passages, self.config.max_passage_chars), 0.0, "search")
        return state.transcript[-1]

    def cut_off(self, text: str = "") -> Outcome:
        """Ends the actor's part as running out of turns does, for a player that has no room to write on: a token budget.

        Args:
            text: what it wrote of its last turn, which is not looked at; "" if nothing.

        Returns:
            The turn.

        Raises:
            SesaError: no episode is running, a search is pending, or `text` is no string.
        """
        self._out_of_turns(self._text(text, self._seat()), 0.0)
        return self.state.transcript[-1]

    def snapshot(self) -> GameState:
        """Returns a copy of the running episode: picklable plain data."""
        return copy.deepcopy(self.state)

    def restore(self, snapshot: GameState) -> None:
        """Goes back to a snapshot. The rest of the episode is then the same function of the texts, in any process."""
        self.state = copy.deepcopy(snapshot)

    # ---- one seat -------------------------------------------------------------------------------------------------

    def _seat(self) -> Seat:
        seat = self.state.seat
        if seat is None:
            raise SesaError("no episode is running: it is over or none has begun; call reset")
        return seat

    def _text(self, text: str, seat: Seat) -> str:
        """Checks that a turn may begin, and returns its text as it can be stored: without lone surrogates."""
        if not isinstance(text, str):
            raise SesaError(f"the {seat.role.value}'s turn: expected a string; got {type(text).__name__} {text!r}")
        if self.state.pending is not None:
            raise SesaError("a search is pending; expected resume(passages), got another turn")
        return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

    def _seat_challenger(self, state: GameState, target: Target) -> str:
        prompt = load_prompt("challenger").format(
            max_turns=self.config.challenger_max_turns,
            hops=target.hops,
            min_words=self.config.validity.min_words,
            target=clean(target.answer, _TASK_LIMIT),
        )
        state.seat = Seat(Role.CHALLENGER, prompt, self.config.challenger_max_turns, self.config.max_searches)
        return prompt

    def _seat_solver(self, state: GameState, question: Question) -> str:
        prompt = load_prompt("solver").format(
            max_turns=self.config.max_turns,
            skills=render_cards(state.cards),
            question=clean(question.text, _TASK_LIMIT),
        )
        state.seat = Seat(Role.SOLVER, prompt, self.config.max_turns, self.config.max_searches)
        return prompt

    def _open_question(self, state: GameState, question: Question, cards: Sequence[CardHit] | None = None) -> str:
        if cards is None:
            cards = self.memory.retrieve([question.text])[0] if self.memory is not None else ()
        state.question, state.cards = question, tuple(cards)
        state.rewards[ROLE_NAMES[Role.SOLVER]] = {}
        if not state.evidence:
            found = (self.world.corpus.find(passage_id) for passage_id in question.evidence)
            state.evidence = tuple(passage for passage in found if passage is not None)
        return self._seat_solver(state, question)

    def _earn(self, role: Role, component: str, amount: float) -> float:
        """Adds to a role's named reward component; a Solver's components are summed over the attempts of its group."""
        components = self.state.rewards[ROLE_NAMES[role]]
        components[component] = components.get(component, 0.0) + amount
        return amount

    def _record(self, actor: Role, text: str, observation: str, reward: float, event: str, *, truncated: bool = False) -> None:
        """Closes a seat's last turn; the next seat is there already, and its absence means that the episode is over."""
        state = self.state
        over = state.seat is None
        state.transcript.append(Turn(actor, text, observation, reward, event, over and not truncated, over and truncated))
        if state.seat is not None:
            state.seat.first_turn = len(state.transcript)

    def _go_on(self, seat: Seat, text: str, observation: str, reward: float, event: str) -> None:
        """Ends a turn after which the same seat acts again, if it has turns left."""
        if seat.turns_left == 0:
            self._out_of_turns(text, reward)
            return
        if seat.turns_left == 1:
            observation += f"\nThis is your last turn. Write {_FINISH[seat.role]} now."
        elif seat.searches_left == 0 and event == "search":
            observation += f"\nYou have no searches left. Write {_FINISH[seat.role]} now."
        self.state.transcript.append(Turn(seat.role, text, observation, reward, event, False, False))

    def _malformed(self, text: str, message: str) -> None:
        seat = self._seat()
        seat.strikes += 1
        reward = self._earn(seat.role, "malformed", -self.config.reward.malformed)
        if seat.strikes < self.config.max_strikes:
            self._go_on(seat, text, f"Error: {message}", reward, "malformed")
        elif seat.role is Role.SOLVER:
            self._end_attempt(text, "", "forfeit", reward)
        else:
            self._reject(text, "no_question", reward)

    def _out_of_turns(self, text: str, reward: float) -> None:
        if self._seat().role is Role.SOLVER:
            self._end_attempt(text, "", "out_of_turns", reward)
        else:
            self._reject(text, "no_question", reward, truncated=True)

    # ---- the Challenger's question ----------------------------------------------------------------------------------

    def _pose(self, text: str, content: str) -> None:
        """Puts a posed question through the filters, then RAG verification; a valid one goes to the Solver group."""
        state, seat = self.state, self._seat()
        assert isinstance(state.task, Target)
        proposal = Proposal(content, state.task, tuple(seat.searches))
        reason = reject_reason(proposal, self.config.validity)
        if reason:
            self._reject(text, reason)
            return
        verdict = rag_verify(proposal, self.world.verifier, self._noise(state.task), state.seed)
        if verdict is None:
            self._reject(text, "unverified")
            return
        answers = tuple(dict.fromkeys((*state.task.answers, *verdict.answers)))
        if contains_answer(content, answers):  # the verifier may know further spellings, which will be accepted too
            self._reject(text, "answer_in_question")
            return
        own = {passage.id: passage for call in proposal.searches for passage in call.passages}
        evidence = verdict.evidence or tuple(own)
        found = (own.get(passage_id) or self.world.corpus.find(passage_id) for passage_id in evidence)
        state.evidence = tuple(passage for passage in found if passage is not None)
        question = Question(
            id=f"posed:{state.task.id}:{state.seed}",
            text=content,
            answers=answers,
            hops=verdict.hops or state.task.hops,
            family=verdict.family,
            evidence=evidence,
            entities=verdict.entities,
            source="challenger",
        )
        observation = self._open_question(state, question)
        self._record(Role.CHALLENGER, text, observation, 0.0, "question")

    def _noise(self, target: Target) -> tuple[Passage, ...]:
        """The documents of N other trajectories: those given to `reset`, or what searches for N other targets bring."""
        state, wanted = self.state, self.config.validity.noise
        if state.noise is not None:
            return state.noise
        pool = self.world.targets
        if not wanted or len(pool) < 2:
            return ()
        picks = np.random.default_rng((state.seed, 1)).choice(len(pool), size=min(wanted + 1, len(pool)), replace=False)
        answers = [pool[i].answer for i in picks if pool[i].answer != target.answer][:wanted]
        hits = self.world.retriever.search(answers, self.config.top_k)
        return tuple(passage for found in hits for passage in found)

    def _reject(self, text: str, reason: str, reward: float = 0.0, *, truncated: bool = False) -> None:
        """Ends the episode with an invalid question (section 3)."""
        state = self.state
        state.reject_reason, state.seat = reason, None
        reward += self._earn(Role.CHALLENGER, "invalid", self.config.reward.invalid)
        self._record(Role.CHALLENGER, text, "", reward, f"rejected:{reason}", truncated=truncated)

    # ---- the Solver's answer ----------------------------------------------------------------------------------------

    def _end_attempt(self, text: str, prediction: str, end: str, reward: float = 0.0) -> None:
        """Ends one Solver attempt and seats the next; after the last, the Challenger earns its reward."""
        state, seat = self.state, self._seat()
        question = state.question
        assert question is not None
        correct = end == "answered" and exact_match(prediction, question.answers)
        state.attempts.append(
            Attempt(
                prediction=prediction,
                correct=correct,
                malformed=end != "answered",
                end=end,
                texts=(*(turn.text for turn in state.transcript[seat.first_turn :]), text),
                searches=tuple(seat.searches),
                cards=tuple((hit.card.id, hit.similarity) for hit in state.cards),
                failed_searches=seat.failed_searches,
            )
        )
        reward += self._earn(Role.SOLVER, "exact_match", float(correct))
        event = "answer" if end == "answered" else end
        if len(state.attempts) < self.config.group_size:
            self._record(Role.SOLVER, text, self._seat_solver(state, question), reward, event)
            return
        state.seat = None
        if isinstance(state.task, Target):
            solve_rate = sum(attempt.correct for attempt in state.attempts) / len(state.attempts)
            self._earn(Role.CHALLENGER, self.config.reward.challenger, challenger_reward(solve_rate, self.config.reward))
        self._record(Role.SOLVER, text, "", reward, event, truncated=end == "out_of_turns")
