"""How the help of commands looks: boxes where there is room for them, plain lines in a narrow window."""

from __future__ import annotations

from shutil import get_terminal_size
from typing import Any

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group", "values_of"]

# Columns below which boxes leave hardly any room for the words, or cut the names of options.
NARROW = 100
# What pydantic calls it when a text is none of these.
NUMBERS = {"int_parsing": "a whole number", "float_parsing": "a number"}
# Typer's own; what they do is said below the commands.
COMPLETION = ("install_completion", "show_completion")


class Command(TyperCommand):
    """A command whose help fits the window, and which quotes what it cannot read."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Say what was given where a number was expected."""
        try:
            return super().parse_args(ctx, args)
        except BadParameter as error:
            wrong: list[dict[str, Any]] = getattr(
                error.__cause__, "errors", list
            )()  # pydantic's, which typer puts into words
            kind = next((NUMBERS[one["type"]] for one in wrong if one["type"] in NUMBERS), None)
            if kind is not None:
                error.message = f"expected {kind}, got {wrong[0]['input']!r}"
            raise

    def get_help_option(self, ctx: Any) -> Any:
        """``--help``, which takes no value and shows none."""
        return _flag(super().get_help_option(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """In boxes, or plainly."""
        argument: Any
        for argument in self.params:
            if argument.param_type_name == "argument":
                argument.display_type_rich = _no_type  # its name says it
        self.rich_markup_mode = None if get_terminal_size().columns < NARROW else self.rich_markup_mode
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """The command itself, with the list of the others."""

    def get_help_option(self, ctx: Any) -> Any:
        """``--help``, which takes no value and shows none."""
        return _flag(super().get_help_option(ctx))

    def get_params(self, ctx: Any) -> list[Any]:
        """All options; those for shells are not listed."""
        found: list[Any] = super().get_params(ctx)
        for option in found:
            option.hidden = getattr(option, "hidden", False) or option.name in COMPLETION
        return found


def _no_type(ctx: Any) -> None:
    return None


def _flag(option: Any) -> Any:
    if option is not None:
        option.metavar = ""
    return option


def values_of(*names: str) -> Any:
    """What the Tab key offers for an option: a function from what was typed to the values that begin with it.

    Examples
    --------
    >>> values_of("above", "below")("a")
    ['above']
    """

    def begun(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return begun
