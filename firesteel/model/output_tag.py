"""Names of side outputs."""

from __future__ import annotations

from typing import Any, ClassVar, final

from firesteel.common.typeinfo import TypeInformation
from firesteel.errors import ConfigurationError


@final  # a result is told from a tagged one by this very class, once per record
class OutputTag:
    """Names a side output of a process or window function.

    Tags are equal if their names are: a tag made again with the same name reads the same output.

    >>> late = OutputTag("late")
    >>> late == OutputTag("late")
    True

    :param tag_id: The name; must not be empty.
    :param type_info: The type of the records, which may differ from that of the main output. None:
        undeclared.
    """

    made: ClassVar[bool] = False
    """Whether this process has ever held a tag. As long as it has not, no result can be a tagged one."""

    def __new__(cls, *arguments: Any, **options: Any) -> OutputTag:
        """Also called when a tag is unpickled."""
        OutputTag.made = True
        return super().__new__(cls)

    def __init__(self, tag_id: str, type_info: TypeInformation | None = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise ConfigurationError(
                f"OutputTag: tag_id must be a non-empty string, got {tag_id!r}. "
                "Give each side output a name of its own, for example OutputTag('late')."
            )
        if type_info is not None and not isinstance(type_info, TypeInformation):
            raise ConfigurationError(
                f"OutputTag({tag_id!r}): type_info must be a TypeInformation, got {type_info!r}. "
                "Use Types, for example Types.STRING()."
            )
        self.tag_id = tag_id
        self.type_info = type_info

    @property
    def name(self) -> str:
        """The name of the side output; the same as ``tag_id``."""
        return self.tag_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and other.tag_id == self.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return (
            f"OutputTag({self.tag_id!r})" if self.type_info is None else f"OutputTag({self.tag_id!r}, {self.type_info})"
        )
