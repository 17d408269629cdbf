"""The report of a run in plain words, with its tables and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.names import public_name
from benchmarks.records import write_file
from benchmarks.render import Table, format_cell, to_markdown
from benchmarks.scores import Comparison, Scores
from benchmarks.stats import Estimate
from benchmarks.suites import Suite
from benchmarks.trained import BASE

_FIGURES = {
    "off_on": "Exact match of each arm without (ring) and with (dot) its skill bank; the bar shows the paired interval.",
    "differences": "Paired differences. Green: the interval lies above zero; orange: below; grey: it holds zero.",
}
_BANKS = {
    "seeds": "the hand-written seed cards alone",
    "loop": "distilled by the self-play loop from its own failures on train entities, as it read the growing bank",
    "blind": "distilled by the self-play loop from its own failures on train entities, without any card in sight",
    "file": "a bank that was there already, copied",
    "none": "none, so it was played in Off mode only",
    "trained": "the one that its training ended with",
}


@dataclass(frozen=True)
class Run:
    """What a report says about the run itself, as JSON values.

    Attributes:
        config: its configuration.
        environments: where it was worked on, the last one last.
        banks: each bank unit's counts, by its id.
        figures: the names of the figures that were drawn.
    """

    config: Mapping[str, Any]
    environments: Sequence[Mapping[str, Any]]
    banks: Mapping[str, Mapping[str, Any]]
    figures: Sequence[str] = tuple(_FIGURES)


def write_report(
    root: Path,
    run: Run,
    scores: Scores,
    comparisons: Sequence[Comparison],
    tables: Sequence[Table],
    suite: Suite,
) -> None:
    """Writes `report.md`.

    Args:
        root: the run's directory.
        run: the run itself.
        scores: its scores.
        comparisons: as `tables.compare_sides` makes them.
        tables: as `tables.make_tables` makes them.
        suite: the suite that was run.
    """
    figures = {name: f"![{_FIGURES[name]}](figures/{name}.png)\n\n*{_FIGURES[name]}*" for name in run.figures}
    main, *others = [to_markdown(table) for table in tables]
    headlines = [f"- {_headline(comparison)}" for comparison in comparisons] or [
        "Nothing was compared: there is one side only."
    ]
    parts = [
        f"# SESA benchmark report: {run.config['suite']}, preset {run.config['preset']}",
        "## What was run\n\n" + _what_was_run(run, scores),
        "## Headline\n\n" + "\n".join(headlines),
        main,
        figures.get("off_on", ""),
        "## What no claim is drawn from\n\n" + _limits(run.config, suite),
        "## Differences\n\n" + figures.get("differences", ""),
        *others,
    ]
    write_file(root / "report.md", ("\n\n".join(part.strip() for part in parts if part) + "\n").encode())


def _what_was_run(run: Run, scores: Scores) -> str:
    config, environment = run.config, run.environments[-1]
    arms = "\n".join(
        f"- **{arm['name']}**: player `{public_name(arm['player'])}`; bank: {_describe_bank(arm['bank'])}"
        for arm in config["arms"]
    )
    sizes = sum(scores.size(name) for name in scores.benchmarks)
    git = environment["git"]
    state = {True: ", with changes that are not committed", False: "", None: ""}[git["dirty"]]
    questions = (
        f"Arms: {len(config['arms'])}. Each answered the same {sizes} questions of seven benchmarks for each seed, every "
        "question once without the skill bank (Off) and, where there is one, once with it (On); everything else was the same. "
        + _describe_rules(config)
    )
    where = (
        f"Seeds: {', '.join(map(str, config['seeds']))}. Code: revision `{git['revision']}`{state}. "
        f"Python {environment['python']}, {environment['platform']}. The configuration is in `config.json`, every answer is "
        "in `records/`."
        + (" It was resumed in other surroundings; `environment.json` lists them." if len(run.environments) > 1 else "")
    )
    parts = (
        questions,
        arms,
        _describe_training(config),
        _describe_loop(config),
        _describe_cards(run),
        _describe_judge(config, scores),
    )
    return "\n\n".join((*(part for part in parts if part), where))


def _describe_rules(config: Mapping[str, Any]) -> str:
    rules = config["trained"][0]["rules"] if config["trained"] else config
    return f"An episode has at most {rules['max_turns']} turns, and a search brings {rules['top_k']} passages."


def _describe_training(config: Mapping[str, Any]) -> str:
    """Says what trained runs were trained with, and whether that was one budget (paper, section 7)."""
    if not config["trained"]:
        return ""
    spent = [(run, _words(run["budget"])) for run in config["trained"] if run["arm"] != BASE]
    if len({words for _, words in spent}) <= 1:
        return f"Every trained arm had one budget a seed: {spent[0][1]}." if spent else ""
    each = "; ".join(f"{run['arm']} (seed {run['seed']}) {words}" for run, words in spent)
    return f"**The arms were trained at unequal budgets**, so their differences are not the method's alone: {each}."


def _words(budget: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in budget.items())


def _describe_judge(config: Mapping[str, Any], scores: Scores) -> str:
    if not config["judge"]:
        return ""
    missing = sum(scores.not_judged(side, name) for side in scores.sides for name in scores.benchmarks)
    return (
        f"Answers that exact match refused were judged by `{public_name(config['judge'])}`; {missing:,} were not judged. "
        "Records hold both scores."
    )


def _describe_cards(run: Run) -> str:
    if not run.banks:
        return ""
    banks = [
        f"`{name}` {stats['cards']} (" + ", ".join(f"{count} {origin}" for origin, count in stats["origins"].items()) + ")"
        for name, stats in run.banks.items()
    ]
    return f"Cards in the banks: {'; '.join(banks)}."


def _describe_loop(config: Mapping[str, Any]) -> str:
    banks = {arm["bank"].partition(":")[0] for arm in config["arms"]}
    if not banks & {"loop", "blind"}:
        return "No loop was run: the banks hold nothing but cards that were written by hand." if banks == {"seeds"} else ""
    changes = ", ".join(f"`{name}` {value}" for name, value in config["loop_memory"].items())
    return (
        f"The loop played {config['loop_steps']} steps of {config['loop_questions']} questions, with the paper's memory "
        f"settings{f' but for {changes}' if changes else ''}. Its questions are about train entities; every question that was "
        "scored is about held-out ones."
    )


def _describe_bank(bank: str) -> str:
    source, _, player = bank.partition(":")
    if source == "file":
        return _BANKS[source]
    return _BANKS[source].replace("its own failures", f"the failures of `{player}`") if player else _BANKS[source]


def _headline(comparison: Comparison) -> str:
    (first, mode), (second, then) = comparison.before, comparison.after
    modes = f"both {mode.capitalize()}" if mode == then else f"{mode.capitalize()} → {then.capitalize()}"
    what = f"**{first}**: the bank (Off → On)" if first == second else f"**{first} → {second}**, {modes}"
    estimate, test = comparison.macro, comparison.test
    words = f"{what}: macro mean {format_cell(estimate.value, 'points')} points of exact match, 95 % interval "
    words += f"{format_cell((estimate.low, estimate.high), 'interval')}: {_verdict(estimate)}."
    return words + (f" {test.gained} questions gained, {test.lost} lost (exact McNemar p {_p_words(test.p)})." if test else "")


def _p_words(p: float) -> str:
    text = format_cell(p, "p")
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


def _verdict(estimate: Estimate) -> str:
    if estimate.low > 0:
        return "a gain"
    if estimate.high < 0:
        return "a loss"
    return "no change at all" if estimate.low == estimate.high == 0 else "not told apart from no change"


_UNEQUAL = "The arms are compared as players, not at an equal budget: the table of search behaviour says what each spent."


def _limits(config: Mapping[str, Any], suite: Suite) -> str:
    seeds = len(config["seeds"])
    spread = "the intervals speak about other worlds and trainings too, with Student's tails where seeds are few"
    single = "the intervals speak about other questions of this world and these players, not about other seeds"
    limits = [
        suite.note,
        f"Seeds, {seeds}: {spread if seeds > 1 else single}.",
        "The intervals and p values are not corrected for the number of comparisons: read a single benchmark's as a hint.",
        "" if config["trained"] else _UNEQUAL,  # trained runs' budgets are told above
        "The paper's rows come from other systems on other data; no difference between them and ours is a result.",
    ]
    return "\n".join(f"- {limit}" for limit in limits if limit)
