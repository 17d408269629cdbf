"""Where a run was made: Python, packages, machine and git revision."""

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "sesa-env",
    "gymnasium",
    "numpy",
    "bm25s",
    "numba",
    "scipy",
    "matplotlib",
    "rich",
    "pyarrow",
    "sentence-transformers",
    "torch",
    "transformers",
    "tokenizers",
    "peft",
    "openai",
)


def describe_environment() -> dict[str, Any]:
    """Describes this process's surroundings as a JSON value."""
    return {
        "python": sys.version.split()[0],
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "git": git_revision(Path(__file__).resolve().parent),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def git_revision(directory: Path) -> dict[str, Any]:
    """Says which commit the code is, and whether tracked files differ from it.

    Returns:
        {"revision": hash, "dirty": bool}; {"revision": "unknown", "dirty": None} outside a git checkout or without git.
    """
    try:
        revision = _git(directory, "rev-parse", "HEAD")
        dirty = bool(_git(directory, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return {"revision": "unknown", "dirty": None}
    return {"revision": revision, "dirty": dirty}


def _git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(directory), *arguments], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()
