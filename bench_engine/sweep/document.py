"""The YAML of a sweep becomes plain documents, read so that a slip or a bomb is a sentence with its line."""

import re
from typing import Any

import yaml

from bench_engine.sweep.part import SweepError

MAX_CHARACTERS = 200_000  # two seconds of reading; a sweep by hand has a hundredth of it
_MAX_ALIASES = 20  # an alias of aliases doubles what is read: twenty stay small, a hundred fill the memory
_MAX_DIGITS = 40


def documents(text: str, source: str) -> list[Any]:
    """The documents that are not empty. `source` begins every complaint. Raises SweepError."""
    if len(text) > MAX_CHARACTERS:
        raise SweepError(
            f"{source} is longer than {MAX_CHARACTERS:,} characters: split it, or draw from ranges with method: random."
        )
    try:
        return [d for d in yaml.load_all(text, Loader=_Loader) if d is not None]
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        tab = " (a tab: indent with spaces)" if "'\\t'" in str(error.problem) else ""
        raise SweepError(f"{source}{line} is not YAML: {error.problem or error.context}{tab}.") from None
    except RecursionError:
        raise SweepError(f"{source} is not YAML that can be read: it is nested too deep.") from None
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError) as error:
        # all but the first come from PyYAML where a tag or a date does not fit its text, such as `!!bool maybe`
        raise SweepError(f"{source} is not YAML: {str(error).splitlines()[0]:.200}.") from None


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Safe YAML, with three more refusals: a key given twice (plain YAML drops the first without a word), aliases
    without end, and whole numbers too long to be meant."""

    aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > _MAX_ALIASES:
                raise yaml.composer.ComposerError(
                    problem=f"more than {_MAX_ALIASES} aliases, write the values out",
                    problem_mark=self.peek_event().start_mark,
                )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.value in keys:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value:.60} is given twice", problem_mark=key.start_mark
                )
            keys.add(key.value)
        return dict(super().construct_mapping(node, deep))

    def construct_whole(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > _MAX_DIGITS:
            raise yaml.constructor.ConstructorError(
                problem=f"a number of {len(node.value)} digits", problem_mark=node.start_mark
            )
        if re.match(r"[-+]?0[0-9_]", node.value) or ":" in node.value:
            raise yaml.constructor.ConstructorError(
                problem=f"{node.value:.40} would be a number to the base of 8 or 60, write it to the base of 10",
                problem_mark=node.start_mark,
            )
        return int(self.construct_yaml_int(node))


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_whole)
# 1e-3 is text in YAML 1.1, which PyYAML reads, and a number to everybody else
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)
