"""The tables of an experiment, T1 to T6 and the claims, with the paper's numbers beside ours."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.experiment.claims import HOLM, MEASURES, Judged
from benchmarks.experiment.compositions import compositions_table
from benchmarks.experiment.coupling import Coupled
from benchmarks.experiment.design import ABLATIONS, MAIN, PLACEBOS, TOOLED, Study
from benchmarks.experiment.regime_figure import regime_table
from benchmarks.experiment.results import Results, tooled_arm
from benchmarks.experiment.stages import stages_table
from benchmarks.render import Column, Row, Table
from benchmarks.scores import Scores, Side
from benchmarks.tables import judged_tables, main_table, paper_table

CLAIMS_TABLE = "claims"
"""The name of the table of claims."""
_PAPER = (
    "Paper: macro mean over the seven real benchmarks, percent, Qwen3-4B unless it says otherwise; not comparable with ours."
)
_PAIRED = (
    "Differences in points of exact match, paired by world and question, with 95 % intervals (benchmarks.stats), each by "
    "itself: not corrected for their number."
)

_TRAINED_WITH = "In training a question was shown 3 cards at most and BM25 searched."

_DUAL = (
    ("SSP", ("ssp", "off"), "53.9"),
    ("SESA-Off: the weights alone", ("sesa", "off"), "55.7"),
    ("SESA-On: with the bank", ("sesa", "on"), "56.2"),
)
_ABLATED = (
    ("Without distillation", "sesa-no-distillation", "53.5"),
    ("Without frontier shaping", "sesa-no-shaping", "54.0"),
    ("Without priming", "sesa-no-priming", "54.7"),
    ("Without memory: shaping alone", "shaping-only", ""),
    ("With the carry-over term", "sesa-carryover", ""),
    ("The Challenger sees the bank", "leak", ""),
)
_MORE = {
    "sesa-no-deduplication": "Without de-duplication",
    "sesa-no-eviction": "Without eviction",
    "sesa-no-floor": "Without a similarity floor",
    "sesa-shared": "One set of parameters for both seats",
    "shaping-only": "No memory",
    "sesa-shuffled": "Cards shuffled between questions",
    "sesa-irrelevant": "Irrelevant cards of equal length",
    "sesa-seeds": "Hand-written cards alone",
}
_AT_EVALUATION = (
    ("No cards", "off"), ("1 card a question", "top-1"), ("3 cards a question", "on"), ("5 cards a question", "top-5"),
    ("3 cards, no similarity floor", "no-floor"), ("Cards shuffled between questions", "shuffled"),
    ("Irrelevant cards of equal length", "irrelevant"), ("Hand-written cards alone", "seeds"),
)  # fmt: skip
_ROLES = {
    "roles-reinforce-grpo": "49.5, 83 s",
    "roles-reinforce-reinforce": "42.0, 9 s",
    "roles-reinforce++-grpo": "48.1, 80 s",
    "roles-grpo-reinforce": "46.5, 50 s",
    "roles-grpo-reinforce++": "29.1, 67 s",
    "roles-grpo-grpo": "50.9, 504 s",
}
"""The paper's averages and seconds a step of SSP, by the arm of ours with the same algorithms."""
_ROLE = "roles-reinforce-grpo"
"""The arm with the algorithms of SESA itself."""


def experiment_tables(results: Results, judged: Sequence[Judged]) -> list[Table]:
    """Makes all tables that an experiment has the arms for, the claims first."""
    main = results.experiment.study(MAIN)
    about = (
        f"Mean over {len(main.seeds)} seeds, each a world of its own."
        if len(main.seeds) > 1
        else "One seed: no claim is drawn."
    )
    tables = [
        claims_table(judged) if judged else None,
        main_table(results.scores(main), results.suite, about),
        *judged_tables(results.scores(main), results.suite, about, len(main.seeds)),
        _worlds(results, main),
        stages_table(results, main),
        _dual_path(results, main),
        _ablations(results, main),
        _at_evaluation(results, main),
        compositions_table(results, main),
        _skillrl(results, main),
        _roles(results),
        _tools(results, main),
        _coupling(results),
        regime_table(results),
        _costs(results, main),
        paper_table(),
    ]
    return [table for table in tables if table is not None]


def claims_table(judged: Sequence[Judged]) -> Table:
    """Makes the table of claims and verdicts."""
    columns = (
        Column("claim", "Claim"),
        Column("paper", "Paper"),
        Column("estimate", "Ours", "signed"),
        Column("interval", "Corrected interval", "signed_interval"),
        Column("level", "Level, %", "percent"),
        Column("unit", "Unit"),
        Column("verdict", "Verdict"),
    )
    groups = tuple(
        tuple(_claim_row(one) for one in judged if one.claim.control is control)
        for control in (False, True)
        if any(one.claim.control is control for one in judged)
    )
    notes = (
        f"Differences, paired by world and question (benchmarks.stats). {HOLM} Verdicts follow from the intervals "
        "alone: above zero the claim holds, below it is reversed, else it is not established. The second group are "
        "controls that the paper lacks. Points are of exact match; how far questions move is a distance from 0 to 1, in "
        "hundredths.",
        _PAPER,
    )
    return Table(CLAIMS_TABLE, "The paper's claims in the built-in world", columns, groups, notes)


def _claim_row(one: Judged) -> Row:
    scale = one.claim.scale
    return {
        "claim": one.claim.claim,
        "paper": one.claim.paper,
        "estimate": one.estimate.value * scale,
        "interval": [one.low * scale, one.high * scale],
        "level": one.level,
        "unit": MEASURES[one.claim.measure].shown,
        "verdict": one.verdict,
    }


def _compared(scores: Scores, before: Side, after: Side) -> dict[str, Any]:
    """The difference of two sides with its interval; nothing where they are one or one of them is missing."""
    if before == after or not scores.has_pairs(before, after, "em"):
        return {}
    estimate = scores.compare(before, after).macro
    return {"difference": estimate.value, "interval": [estimate.low, estimate.high]}


_DIFFERENCE = (Column("difference", "Difference", "points"), Column("interval", "95 % interval", "interval"))


def _dual_path(results: Results, study: Study) -> Table | None:
    scores = results.scores(study)
    shown = [row for row in _DUAL if row[1] in scores.sides]
    if len(shown) < len(_DUAL):
        return None
    rows: list[Row] = [{"arm": "Start policy", "macro": scores.macro(("base", "off"), "em"), "paper": "45.3"}]
    before: Side = ("base", "off")
    for label, side, paper in shown:
        rows.append({"arm": label, "macro": scores.macro(side, "em"), "paper": paper, **_compared(scores, before, side)})
        before = side
    columns = (Column("arm", "System"), Column("macro", "Macro mean", "percent"), *_DIFFERENCE, Column("paper", "Paper"))
    notes = (f"Each difference is to the row above. {_PAIRED}", _PAPER)
    return Table("dual_path", "The dual path: from SSP to SESA's weights to its bank", columns, (tuple(rows),), notes)


def _ablations(results: Results, main: Study) -> Table | None:
    groups = [_ablation_rows(results, main, [row for row in _ABLATED if row[1] in main.arms])]
    for name, arms in (("ablations", ABLATIONS), ("placebos", ("shaping-only", *PLACEBOS))):
        study = next((study for study in results.experiment.studies if study.name == name), None)
        if study is not None:
            groups.append(_ablation_rows(results, study, [(_MORE[arm], arm, "") for arm in arms if arm in study.arms]))
    if not any(len(group) > 1 for group in groups):
        return None
    columns = (
        Column("arm", "Arm"),
        Column("study", "Study"),
        Column("worlds", "Worlds", "count"),
        Column("updates", "Updates", "count"),
        Column("off", "Off", "percent"),
        Column("on", "On", "percent"),
        *_DIFFERENCE,
        Column("paper", "Paper"),
    )
    notes = (
        f"Differences are SESA's On minus the arm's On (its Off where it has no bank). {_PAIRED} Each study has worlds and "
        "updates of its own, and its own row of SESA: compare within a study alone. Trained with shuffled or irrelevant cards, "
        "an arm's On is with the bank that it collected meanwhile, as it is.",
        *_elsewhere(main),
        f"{_PAPER} SESA-On there: 56.2.",
    )
    return Table("ablations", "Ablations and placebos in training", columns, tuple(tuple(group) for group in groups), notes)


def _elsewhere(main: Study) -> list[str]:
    """Says of what was taken apart at evaluation only where that is told."""
    tables = []
    if any(mode.startswith("top-") for mode in main.controls.get("sesa", ())):
        tables.append("how many cards are shown (the table of the same weights with other cards)")
    if main.tools:
        tables.append("the search tool (the table of search tools)")
    return [f"Changed at evaluation only: {' and '.join(tables)}. {_TRAINED_WITH}"] if tables else []


def _ablation_rows(results: Results, study: Study, arms: Sequence[tuple[str, str, str]]) -> list[Row]:
    scores = results.scores(study)
    made = {"study": study.name, "worlds": len(study.seeds), "updates": study.stages[-1]}
    rows: list[Row] = [{"arm": "SESA", **made, **_off_and_on(scores, "sesa"), "paper": ""}]
    for label, arm, paper in arms:
        mode = "on" if (arm, "on") in scores.sides else "off"
        compared = _compared(scores, (arm, mode), ("sesa", "on"))
        rows.append({"arm": label, **made, **_off_and_on(scores, arm), **compared, "paper": paper})
    return rows


def _off_and_on(scores: Scores, arm: str) -> dict[str, float]:
    return {mode: scores.macro((arm, mode), "em") for mode in ("off", "on") if (arm, mode) in scores.sides}


def _at_evaluation(results: Results, study: Study) -> Table | None:
    scores = results.scores(study)
    shown = [(label, mode) for label, mode in _AT_EVALUATION if ("sesa", mode) in scores.sides]
    if len(shown) < 3:  # Off and On are the main table's
        return None
    rows = tuple(
        {"arm": label, "macro": scores.macro(("sesa", mode), "em"), **_compared(scores, ("sesa", "off"), ("sesa", mode))}
        for label, mode in shown
    )
    columns = (Column("arm", "SESA's Solver is shown"), Column("macro", "Macro mean", "percent"), *_DIFFERENCE)
    notes = (f"{_TRAINED_WITH} What differs is the evaluation alone. Differences are to Off. {_PAIRED}",)
    return Table("at_evaluation", "The same weights with other cards", columns, (rows,), notes)


def _skillrl(results: Results, study: Study) -> Table | None:
    arms = [arm for arm in ("skillrl", "sesa", "oracle") if arm in study.arms]
    if len(arms) < 3:
        return None
    scores = results.scores(study)
    rows = []
    for arm in arms:
        mode = "on" if (arm, "on") in scores.sides else "off"
        rows.append({"arm": arm, **_off_and_on(scores, arm), **_compared(scores, ("skillrl", "on"), (arm, mode))})
    columns = (Column("arm", "Arm"), Column("off", "Off", "percent"), Column("on", "On", "percent"), *_DIFFERENCE)
    notes = (
        f"Differences are to SkillRL's On. {_PAIRED} `skillrl` trains on a finite fixed question set of two families; `oracle` "
        "on an endless balanced stream of what is evaluated: an upper reference, not a baseline.",
        "Paper, Qwen2.5-7B-Instruct: SkillRL-Search-7B 50.1, SESA-On 51.0.",
    )
    return Table("skillrl", "Against a finite question set, and the oracle above both", columns, (tuple(rows),), notes)


def _roles(results: Results) -> Table | None:
    study = next((study for study in results.experiment.studies if study.name == "roles"), None)
    if study is None:
        return None
    scores, rows = results.scores(study), []
    for arm in study.arms:
        cost = results.spent(study, arm)
        rows.append(
            {
                "arm": arm.removeprefix("roles-"),
                **_off_and_on(scores, arm),
                **_compared(scores, (_ROLE, "on"), (arm, "on")),
                "tokens": cost["tokens"] / cost["updates"],
                "seconds": cost["seconds"] / cost["updates"],
                "paper": _ROLES[arm],
            }
        )
    columns = (
        Column("arm", "Challenger-Solver"),
        Column("off", "Off", "percent"),
        Column("on", "On", "percent"),
        *_DIFFERENCE,
        Column("tokens", "Tokens an update", "number"),
        Column("seconds", "Seconds an update", "number"),
        Column("paper", "Paper"),
    )
    notes = (
        "Ours are SESA, with its bank, with these algorithms in its seats. Differences are to the On of "
        f"`{_ROLE.removeprefix('roles-')}`, SESA's own. {_PAIRED} Seconds are of the machine that trained, two trainings at a "
        "time.",
        "Paper: SSP with them, its average and seconds a step.",
    )
    return Table("roles", "The algorithms of the two seats, and what they cost", columns, (tuple(rows),), notes)


def _tools(results: Results, study: Study) -> Table | None:
    if not study.tools:
        return None
    scores, groups = results.tooled(study), []
    for arm in (arm for arm in TOOLED if arm in study.arms):
        mode, rows = ("on" if (arm, "on") in scores.sides else "off"), []
        for tool in ("", *study.tools):
            named = tooled_arm(arm, tool)
            rows.append(
                {
                    "arm": arm,
                    "tool": tool or "BM25, trained with",
                    **_off_and_on(scores, named),
                    **_compared(scores, (arm, mode), (named, mode)),
                    "hit": scores.macro((named, "off"), "hit@1"),
                }
            )
        groups.append(tuple(rows))
    columns = (
        Column("arm", "Arm"),
        Column("tool", "Search tool"),
        Column("off", "Off", "percent"),
        Column("on", "On", "percent"),
        *_DIFFERENCE,
        Column("hit", "Hit@1, Off", "percent"),
    )
    notes = (
        "The same Solvers on the same questions, evaluated with each tool: none was trained with another than BM25. Encoder: "
        f"MiniLM. Differences are to BM25, On where the arm has a bank. {_PAIRED}",
    )
    return Table("tools", "Search tools at evaluation", columns, tuple(groups), notes)


def _worlds(results: Results, study: Study) -> Table | None:
    if len(study.seeds) < 2:
        return None
    scores, sides = results.scores(study), dict[str, list[Row]]()
    for arm, mode in results.scores(study).sides:
        sides.setdefault(arm, []).append(
            {"arm": arm, "mode": mode, **dict(zip(map(str, study.seeds), scores.macro_by_seed((arm, mode), "em"), strict=True))}
        )
    columns = (Column("arm", "Arm"), Column("mode", "Bank"), *(Column(str(seed), str(seed), "percent") for seed in study.seeds))
    return Table(
        "worlds", "Exact match in each world, macro mean, percent", columns, tuple(tuple(rows) for rows in sides.values()),
        ("Columns are seeds, of the world and of the training.",),
    )  # fmt: skip


def _coupling(results: Results) -> Table | None:
    coupled, coupling = results.coupled, results.experiment.coupling
    if coupled is None or coupling is None:
        return None
    rows = (
        {"bank": "its own, other draws (the null)", **_distances(coupling.seeds, coupled.null)},
        *(
            {"bank": label, **_distances(coupling.seeds, getattr(coupled, name)), **_beyond(coupled, name)}
            for label, name in (("empty", "empty"), ("another run's", "other"), ("not gone on with: the start policy", "start"))
        ),
    )
    columns = (
        Column("bank", "Gone on with"),
        *(Column(str(seed), str(seed), "number") for seed in coupling.seeds),
        Column("mean", "Mean", "number"),
        Column("beyond", "Beyond the null", "signed"),
        Column("interval", "95 % interval", "signed_interval"),
    )
    notes = (
        f"Runs of {coupling.arm} gone on with for {coupling.updates} updates; then each Challenger poses for the same "
        f"{coupling.targets} targets. Numbers: Jensen-Shannon distance, times 100, of the kinds of question (the relations "
        "that they chain; invalid ones by their reason) from those of the run that goes on with its own bank. So few questions "
        "of so many kinds are apart by chance, the null's as well; the start policy's tell how far training has moved them. "
        "Columns are seeds; differences are paired by them, each interval by itself.",
    )
    return Table("coupling", "Coupling: does the bank move what the Challenger asks?", columns, (rows,), notes)


def _distances(seeds: Sequence[int], found: Sequence[float]) -> dict[str, float]:
    return {**{str(seed): 100 * one for seed, one in zip(seeds, found, strict=True)}, "mean": 100 * float(np.mean(found))}


def _beyond(coupled: Coupled, name: str) -> dict[str, Any]:
    estimate = coupled.beyond_null(name)
    return {"beyond": 100 * estimate.value, "interval": [100 * estimate.low, 100 * estimate.high]}


def _costs(results: Results, study: Study) -> Table:
    rows = []
    for arm in (arm for arm in (*study.arms, *study.matched) if arm != "base"):
        cost = results.spent(study, arm)
        rows.append(
            {"arm": arm, **{name: round(value) for name, value in cost.items()}, **cost_of_a_point(results, study, arm)}
        )
    names = ("updates", "questions", "rollouts", "bootstrap_rollouts", "searches", "tokens", "seconds")
    columns = (
        Column("arm", "Arm"),
        *(Column(name, name.replace("_", " ").capitalize(), "count") for name in names),
        Column("off", "Tokens a point, Off", "count"),
        Column("on", "On", "count"),
    )
    notes = (
        "Means over the seeds. Updates, questions and rollouts are equal by design, but for arms that are gone on with until "
        "they have another's tokens; searches and tokens (read and sampled, by both seats, in the bootstrap phase too) are "
        "what the arms made of them. Seconds are of the machine that trained, two trainings at a time. Tokens a point: what "
        "one point of exact match over the start policy took.",
    )
    return Table("budgets", "What each arm spent, and what a point cost", columns, (tuple(rows),), notes)


def cost_of_a_point(results: Results, study: Study, arm: str) -> dict[str, int]:
    """Returns the tokens that an arm spent for a point gained over the start policy, by mode; a mode without gain has none."""
    scores = results.scores(study)
    if ("base", "off") not in scores.sides:
        return {}
    start, tokens = scores.macro(("base", "off"), "em"), results.spent(study, arm)["tokens"]
    gains = {mode: 100 * (score - start) for mode, score in _off_and_on(scores, arm).items()}
    return {mode: round(tokens / gain) for mode, gain in gains.items() if gain > 0}
