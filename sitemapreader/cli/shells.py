"""Completion for shells, written from the parsers: one function a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.cli.inventory import COMMANDS, DEFAULT, PROGRAM, Option, list_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = " ".join(COMMANDS)


def write_bash() -> str:
    """Write a script for bash 3.2 and later."""
    return f"""\
# bash completion for {PROGRAM}; load it with: source <({PROGRAM} completion bash)
_{PROGRAM}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local command={DEFAULT.name} values= flags= files=
    if (( COMP_CWORD > 1 )); then
        case ${{COMP_WORDS[1]}} in {"|".join(COMMANDS)}) command=${{COMP_WORDS[1]}} ;; esac
    fi
    case $command in
{"".join(_bash_command(name) for name in COMMANDS)}    esac
    if [[ -n $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$current"))
    elif [[ -z $files && $current == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$current"))
    elif [[ $files != no ]]; then
        local IFS=$'\\n'
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$current"))
        if (( COMP_CWORD == 1 )); then
            IFS=' '
            COMPREPLY+=($(compgen -W "{NAMES}" -- "$current"))
        fi
    fi
}}
complete -F _{PROGRAM} {PROGRAM}
"""


def _bash_command(name: str) -> str:
    """Write what is known of one command: its flags, and what may follow some of them."""
    options = list_options(COMMANDS[name])
    flags = " ".join(flag for option in options for flag in option.flags)
    cases = ""
    for option in options:
        if option.value and option.flags:
            cases += f"                {'|'.join(option.flags)}) {_bash_value(option)} ;;\n"
    other = next((option for option in options if not option.flags), None)
    default = "                *) files=no ;;\n" if other is None else ""
    if other is not None and not other.takes_file:
        default = f"                *) {_bash_value(other)} ;;\n"
    if not cases + default:
        return f"        {name}) flags='{flags}' ;;\n"
    return (
        f"        {name})\n"
        f"            flags='{flags}'\n"
        f"            case $previous in\n{cases}{default}            esac ;;\n"
    )


def _bash_value(option: Option) -> str:
    if option.choices:
        return f"values='{' '.join(option.choices)}'"
    return "files=yes" if option.takes_file else "files=no"


def write_zsh() -> str:
    """Write a script for zsh, to be put as `_sitemapreader` in a folder of `fpath`."""
    described = "\n".join(
        f"        {_zsh_quote(f'{name}:{command.purpose}')}" for name, command in COMMANDS.items()
    )
    cases = "".join(_zsh_command(name) for name in COMMANDS)
    return f"""\
#compdef {PROGRAM}
# zsh completion for {PROGRAM}; load it with: source <({PROGRAM} completion zsh)
_{PROGRAM}() {{
    local command={DEFAULT.name}
    local -a commands=(
{described}
    )
    if (( CURRENT > 2 )) && (( ${{+commands[(r)${{words[2]}}:*]}} )); then
        command=${{words[2]}}
        shift words
        (( CURRENT-- ))
    elif (( CURRENT == 2 )); then
        _describe command commands
    fi
    case $command in
{cases}    esac
}}
compdef _{PROGRAM} {PROGRAM}
"""


def _zsh_command(name: str) -> str:
    specs = " \\\n".join(
        f"                {spec}"
        for option in list_options(COMMANDS[name])
        for spec in _zsh_specs(option)
    )
    return f"        {name})\n            _arguments -s -S \\\n{specs} ;;\n"


def _zsh_specs(option: Option) -> Iterator[str]:
    """Write an option as `_arguments` takes it, once for each of its flags."""
    action = f"({' '.join(option.choices)})" if option.choices else "_files" * option.takes_file
    value = f":{_zsh_escape(option.value)}:{action}" if option.value else ""
    if not option.flags:
        yield _zsh_quote(f"*{value}")
    for flag in option.flags:
        before = "*" if option.is_repeatable else f"({' '.join(option.flags)})"
        yield _zsh_quote(f"{before}{flag}[{_zsh_escape(option.help)}]{value}")


def _zsh_escape(text: str) -> str:
    for char in "\\[]:":
        text = text.replace(char, f"\\{char}")
    return text


def _zsh_quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def write_fish() -> str:
    """Write a script for fish."""
    lines = [f"# fish completion for {PROGRAM}; load it with: {PROGRAM} completion fish | source"]
    for name, command in COMMANDS.items():
        lines.append(
            f"complete -c {PROGRAM} -n __fish_use_subcommand -a {name} "
            f"-d {_fish_quote(command.purpose)}"
        )
    for name, command in COMMANDS.items():
        others = " ".join(other for other in COMMANDS if other != name)
        seen = f"__fish_seen_subcommand_from {name}"
        if command is DEFAULT:
            seen = f"not __fish_seen_subcommand_from {others}"
        for option in list_options(command):
            words = [f"complete -c {PROGRAM} -n {_fish_quote(seen)}", *_fish_words(option)]
            lines.append(" ".join(word for word in words if word))
    return "\n".join(lines) + "\n"


def _fish_words(option: Option) -> Iterator[str]:
    for flag in option.flags:
        yield f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
    if option.choices:
        yield f"-x -a {_fish_quote(' '.join(option.choices))}"
    elif option.value and option.flags:
        yield "-r -F" if option.takes_file else "-x"
    elif option.value:
        yield "-F" if option.takes_file else "-f"
    yield f"-d {_fish_quote(option.help)}"


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[], str]] = {"bash": write_bash, "zsh": write_zsh, "fish": write_fish}
"""Name of a shell -> what writes its completion."""
