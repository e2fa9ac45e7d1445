"""Reading YAML that people write: one clear line for what is wrong, and no key twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import yaml

from generators.errors import RecipeError

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same result, ten times faster where libyaml is there


def read_mapping(path: Path, what: str, of: str = "names") -> dict[str, Any]:
    """The mapping in a YAML file; messages say `what` kind of file it is, and `of` what it maps.

    Raises:
        RecipeError: not readable, not YAML, a key twice, or not a mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
        _refuse_twice(_Loader(text).get_single_node())
        data = yaml.load(text, _Loader)
    except OSError as error:
        raise RecipeError(f"{what} {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{what} {path} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise RecipeError(f"{what} {path} must be a mapping of {of}")
    return cast(dict[str, Any], data)


def _refuse_twice(node: Any) -> None:
    """A key given twice is a mistake, not an override."""
    if isinstance(node, yaml.MappingNode):
        pairs = cast(list[tuple[yaml.Node, yaml.Node]], node.value)
        seen: set[Any] = set()
        for key, value in pairs:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is given twice", key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else key)
            _refuse_twice(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in cast(list[yaml.Node], node.value):
            _refuse_twice(item)
