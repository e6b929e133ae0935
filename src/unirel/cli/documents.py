"""JSON that commands print and write, and the selection that `unirel apply` reads."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unirel._version import __version__
from unirel.cli.exits import BadInput

_VERSION = 1


def to_json(kind: str, content: Mapping[str, Any]) -> str:
    """A document of a kind for people and programs; the same every time."""
    head = {"schema": f"unirel/{kind}", "version": _VERSION, "unirel": __version__}
    return json.dumps({**head, **content}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_selected_names(path: str) -> list[str]:
    """Names of the columns of a saved selection, first selected first."""
    try:
        content = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        raise BadInput(f"there is no file '{path}'") from None
    except OSError as error:
        raise BadInput(f"'{path}' cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadInput(f"'{path}' is no selection: it is not JSON; write one with `unirel select --save`") from None
    if not isinstance(content, dict) or content.get("schema") != "unirel/selection":
        raise BadInput(f"'{path}' is no selection; write one with `unirel select --save`")
    if content.get("version") != _VERSION:
        raise BadInput(f"'{path}' has version {content.get('version')!r}, this program reads {_VERSION}; update unirel")
    features = content.get("features")
    rows = features if isinstance(features, list) else []
    names = [row.get("name") if isinstance(row, dict) else None for row in rows]
    if not names or not all(isinstance(name, str) for name in names):
        raise BadInput(f"'{path}' holds no selected features")
    return [str(name) for name in names]
