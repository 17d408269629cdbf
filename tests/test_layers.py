"""The three floors: imports point down only, the rules stay pure, and nothing reads global randomness."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("sesa_env", "agents", "benchmarks")  # from the ground up
HARD_DEPENDENCIES = {"gymnasium", "numpy", "bm25s"}
RULES = ("types", "errors", "protocol", "game", "state", "rewards", "grading", "validity")
NOT_IN_RULES = {
    "gymnasium",
    "torch",
    "socket",
    "ssl",
    "http",
    "urllib",
    "requests",
    "httpx",
    "asyncio",
    "subprocess",
    "sqlite3",
    "time",
    "random",
}
FILES = {floor: sorted((ROOT / floor).rglob("*.py")) for floor in FLOORS}


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported(node: ast.AST, path: Path) -> list[str]:
    """The dotted names that one import statement asks for, relative ones resolved."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        package = list(path.relative_to(ROOT).parent.parts)
        base = [*package[: len(package) - node.level + 1], node.module] if node.level else [node.module]
        prefix = ".".join(part for part in base if part)
        return [prefix, *(f"{prefix}.{alias.name}" for alias in node.names)]
    return []


def all_imports(path: Path) -> list[str]:
    return [name for node in ast.walk(parse(path)) for name in imported(node, path)]


def executed_on_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, less `try` blocks (an optional dependency) and TYPE_CHECKING."""
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef | ast.With):
            yield from executed_on_import(node.body)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from executed_on_import([*node.body, *node.orelse])


def module_file(dotted: str) -> Path | None:
    """The file of a module of ours; None for a name inside a module and for packages of others."""
    path = ROOT / Path(*dotted.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def calls(path: Path, function: str) -> list[int]:
    """Line numbers of the calls of a built-in function, those in `__hash__` left out."""
    tree = parse(path)
    own = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__hash__"
        for inner in ast.walk(node)
    }
    named = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function
    ]
    return [node.lineno for node in named if id(node) not in own]


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_point_down_only(floor):
    above = {*FLOORS[FLOORS.index(floor) + 1 :], "tests"}
    wrong = [
        f"{label(path)} imports {name}"
        for path in FILES[floor]
        if ROOT / "benchmarks" / "speed" not in path.parents  # these are tests as well, and measure what tests have built
        for name in all_imports(path)
        if name.split(".")[0] in above
    ]
    assert not wrong


@pytest.mark.parametrize("path", FILES["sesa_env"], ids=label)
def test_sesa_env_imports_only_its_hard_dependencies(path):
    names = [name for node in executed_on_import(parse(path).body) for name in imported(node, path)]
    allowed = {*sys.stdlib_module_names, *HARD_DEPENDENCIES, "sesa_env"}
    assert {name.split(".")[0] for name in names} <= allowed, "an extra is imported where it is used, with errors.missing_extra"


@pytest.mark.parametrize("rule", RULES)
def test_the_rules_know_no_framework_no_network_and_no_clock(rule):
    waiting, seen = [f"sesa_env.{rule}"], set()
    while waiting:  # what a rule imports counts too
        path = module_file(waiting.pop())
        if path is None or path in seen or path == ROOT / "sesa_env" / "__init__.py":
            continue
        seen.add(path)
        names = [name for node in executed_on_import(parse(path).body) for name in imported(node, path)]
        wrong = sorted({name for name in names if name.split(".")[0] in NOT_IN_RULES})
        assert not wrong, f"sesa_env/{rule}.py reaches {wrong} through {label(path)}"
        waiting += [name for name in names if name.split(".")[0] == "sesa_env"]
    assert ROOT / "sesa_env" / f"{rule}.py" in seen


LOOKS_AT_GLOBAL_RANDOMNESS = {ROOT / "sesa_env" / "checks.py"}  # the conformance suite shows that nobody else touches it


@pytest.mark.parametrize(
    "path", [path for path in (*FILES["sesa_env"], *FILES["agents"]) if path not in LOOKS_AT_GLOBAL_RANDOMNESS], ids=label
)
def test_randomness_comes_from_seeded_generators(path):
    assert not {"random", "uuid", "secrets"} & {name.split(".")[0] for name in all_imports(path)}
    assert not calls(path, "hash"), "the built-in hash() of a string differs from process to process"


@pytest.mark.parametrize("path", FILES["sesa_env"], ids=label)
def test_the_library_does_not_print(path):
    assert not calls(path, "print")


OPENERS = {"SkillBank.open", "BankStore"}
RETURNS_AN_OPEN_BANK = {
    ROOT / "sesa_env" / "memory" / "bank.py",  # SkillBank.open itself: closed by whoever called it
    ROOT / "agents" / "selfplay" / "loop.py",  # held as long as the run is, and closed with it
}


@pytest.mark.parametrize(
    "path", [path for floor in FLOORS for path in FILES[floor] if path not in RETURNS_AN_OPEN_BANK], ids=label
)
def test_banks_are_opened_to_be_closed(path):
    tree = parse(path)
    managed = {id(item.context_expr) for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items}
    returned = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Return)}  # a helper: its caller closes
    opened = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in OPENERS]
    assert [node.lineno for node in opened if id(node) not in managed | returned] == []
