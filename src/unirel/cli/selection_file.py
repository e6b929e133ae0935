"""A selection as a file: what `select --json` prints, `select --save` writes and `apply` reads."""

import json
from pathlib import Path
from typing import Any

from unirel._version import __version__
from unirel.cli.exits import BadInput

SCHEMA = "unirel/selection"
VERSION = 1


def to_json(document: dict[str, Any]) -> str:
    """JSON for people and programs; the same every time."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def document(source: str, target: str, data: dict[str, Any], selection: dict[str, Any]) -> dict[str, Any]:
    """What is written about a selection."""
    head = {"schema": SCHEMA, "version": VERSION, "unirel": __version__}
    return {**head, "data": {"source": source, "target": target, **data}, **selection}


def read_names(path: str) -> list[str]:
    """Names of the selected columns, first selected first."""
    try:
        content = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        raise BadInput(f"there is no file '{path}'") from None
    except OSError as error:
        raise BadInput(f"'{path}' cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadInput(f"'{path}' is no selection: it is not JSON; write one with `unirel select --save`") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise BadInput(f"'{path}' is no selection; write one with `unirel select --save`")
    if content.get("version") != VERSION:
        raise BadInput(f"'{path}' has version {content.get('version')!r}, this program reads {VERSION}; update unirel")
    features = content.get("features")
    names = (
        [row.get("name") if isinstance(row, dict) else None for row in features] if isinstance(features, list) else []
    )
    if not names or not all(isinstance(name, str) for name in names):
        raise BadInput(f"'{path}' holds no selected features")
    return [str(name) for name in names]
