"""What saved weights are known by. Needs neither torch nor transformers."""

import hashlib
from pathlib import Path

from sesa_env.errors import StoreError

_PATTERNS = ("*.safetensors", "*.bin")


def weights_digest(directory: Path) -> str:
    """Returns "sha256:..." over the weight files of a transformers directory, their names included.

    Raises:
        StoreError: it holds none.
    """
    paths = sorted(path for pattern in _PATTERNS for path in directory.glob(pattern))
    if not paths:
        raise StoreError(f"{directory}: expected a transformers directory with weights; found none")
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return f"sha256:{whole.hexdigest()}"
