"""Options of a command line whose values are JSON."""

import argparse
import json
from typing import Any


def json_mapping(text: str) -> dict[str, Any]:
    """Reads an option such as `{"size": 300}`, for argparse's `type`.

    Raises:
        argparse.ArgumentTypeError: it is no JSON object.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected JSON such as '{{\"size\": 300}}'; got {text!r}: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"expected a JSON object such as '{{\"size\": 300}}'; got {text!r}")
    return value
