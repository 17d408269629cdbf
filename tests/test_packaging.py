"""What is shipped: the wheel holds `sesa_env` whole and nothing else, the sdist holds what is needed to test it."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))


CONSTRAINTS = pins("constraints.txt")


def python(*arguments: str, cwd: Path = ROOT) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """A folder with the wheel and the sdist, built without the network."""
    folder = tmp_path_factory.mktemp("dist")
    python("-m", "hatchling", "build", "-d", str(folder))
    return folder


@pytest.fixture(scope="module")
def wheel_names(dist):
    (wheel,) = dist.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_holds_sesa_env_only(wheel_names):
    tops = {name.split("/")[0] for name in wheel_names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"sesa_env"}


def test_the_wheel_holds_all_of_sesa_env(wheel_names):
    files = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "sesa_env").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "sesa_env/py.typed" in files
    assert files <= set(wheel_names)


def test_the_wheel_carries_its_licence(wheel_names):
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel_names)


def test_the_wheel_imports_from_a_folder_of_its_own(dist, tmp_path):
    (wheel,) = dist.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import sesa_env; print(sesa_env.__file__, sesa_env.__version__)"
    file, version = python("-I", "-c", code, cwd=tmp_path).split()
    assert Path(file).is_relative_to(tmp_path)
    assert wheel.name.startswith(f"sesa_env-{version}-py3-none-any")


def test_the_sdist_can_be_tested(dist):
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "tox.ini", "constraints.txt", "constraints-trainers.txt", "README.md", "LICENSE"} <= names
    assert {"tests/conftest.py", "agents/__init__.py", "benchmarks/__init__.py"} <= names


def test_the_script_is_importable():
    module, function = PROJECT["scripts"]["sesa"].split(":")
    assert python("-c", f"from {module} import {function}; print(callable({function}))").strip() == "True"


def requirements() -> list[str]:
    extras = PROJECT["optional-dependencies"].values()
    return [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]


@pytest.mark.parametrize("requirement", sorted(set(requirements())))
def test_the_constraints_pin_each_requirement_within_its_range(requirement):
    from packaging.requirements import Requirement

    parsed = Requirement(requirement)
    assert parsed.name in CONSTRAINTS
    assert CONSTRAINTS[parsed.name] in parsed.specifier


def test_the_trainers_own_list_differs_only_where_it_must():
    older = {"openai", "transformers", "tokenizers", "huggingface-hub"}
    trainers = pins("constraints-trainers.txt")
    assert {"verl", "verifiers", "gymnasium", "torch", *older} <= set(trainers)
    assert {name for name, version in trainers.items() if CONSTRAINTS.get(name, version) != version} == older


def test_torch_is_pinned_where_we_install_it_and_asked_for_by_one_extra_alone():
    assert CONSTRAINTS["torch"] == "2.13.0"
    assert [line for line in requirements() if re.match(r"torch\b", line)] == ["torch>=2.4"]
