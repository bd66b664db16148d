"""``firesteel completion``: let the shell complete commands, options and configuration keys."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from firesteel.common.options import OPTIONS

__all__ = ["add_command", "bash_script", "zsh_script"]

_DESCRIPTION = "Print a script that lets your shell complete commands, options, choices and configuration keys."
_EPILOG = """\
bash:
  source <(firesteel completion bash)            in ~/.bashrc, to have it always
zsh:
  source <(firesteel completion zsh)             in ~/.zshrc, after compinit
"""

_BASH = """\
# Completion of the command firesteel, for bash. Written by `firesteel completion bash`.
_firesteel() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local path="" word i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${{COMP_WORDS[i]}}"
        case "$path/$word" in
            {paths}) path="$path/$word" ;;
        esac
    done
    COMPREPLY=()
    case "$path $previous" in
{values}
    esac
    if [[ "$current" == -* ]]; then
        case "$path" in
{options}
        esac
        return
    fi
    case "$path" in
{words}
    esac
    if [[ ${{#COMPREPLY[@]}} -eq 0 ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}}
complete -F _firesteel firesteel
"""

_ZSH = """\
# Completion of the command firesteel, for zsh. Written by `firesteel completion zsh`.
autoload -Uz bashcompinit && bashcompinit
"""


def add_command(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "completion",
        help="print a completion script for your shell",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh"))
    parser.set_defaults(handler=_completion)


def _completion(parsed: argparse.Namespace) -> int:
    script = bash_script if parsed.shell == "bash" else zsh_script
    print(script(parsed.parser), end="")
    return 0


def bash_script(parser: argparse.ArgumentParser) -> str:
    """The script for bash, made from the parser: it cannot forget an option."""
    parsers = list(_parsers(parser, ""))
    return _BASH.format(
        paths="|".join(path for path, _ in parsers if path) or '""',
        values="\n".join(line for path, each in parsers for line in _value_lines(path, each)),
        options="\n".join(f'            "{path}") {_reply(" ".join(_options(each)))} ;;' for path, each in parsers),
        words="\n".join(
            f'        "{path}") {_reply(" ".join(words))} ;;' for path, each in parsers if (words := _words(each))
        ),
    )


def zsh_script(parser: argparse.ArgumentParser) -> str:
    """The script for zsh, which runs bash's completion functions."""
    return _ZSH + bash_script(parser).partition("\n")[2]


def _parsers(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parser and those of its commands, each with its path such as ``/savepoint/list``."""
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _parsers(below, f"{path}/{name}")


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings]


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """Commands, and the choices of positional arguments."""
    return [str(word) for action in parser._actions if not action.option_strings for word in action.choices or ()]


def _value_lines(path: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """What may follow an option that takes a value from a list."""
    for action in parser._actions:
        pattern = "|".join(f'"{path} {name}"' for name in action.option_strings)
        if pattern and action.choices:
            yield f"        {pattern}) {_reply(' '.join(map(str, action.choices)))}; return ;;"
        elif "--conf" in action.option_strings:
            keys = " ".join(f"{key}=" for key, option in sorted(OPTIONS.items()) if option.no_meaning is None)
            yield f"        {pattern}) compopt -o nospace 2>/dev/null; {_reply(keys)}; return ;;"


def _reply(words: str) -> str:
    return f'COMPREPLY=($(compgen -W "{words}" -- "$current"))'
