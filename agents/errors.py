"""What a user can get wrong: one sentence that says what was expected and what came."""

import difflib
import sys
from collections.abc import Callable, Iterable, Sequence


class UserError(ValueError):
    """A mistake in what the user asked for. The commands print its sentence and exit with code 2."""


def unknown_name(kind: str, name: object, allowed: Iterable[str]) -> UserError:
    """An error that names what is allowed, and the nearest allowed name if one is near."""
    allowed = sorted(allowed)
    near = difflib.get_close_matches(str(name), allowed, n=1, cutoff=0.5)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return UserError(f"Unknown {kind} {name!r}{hint}; expected one of: {', '.join(allowed) or 'none'}.")


def run_command(command: Callable[[Sequence[str] | None], None], arguments: Sequence[str] | None = None) -> int:
    """Run a program: exit code 0, or 2 and one sentence on stderr after a mistake of the user."""
    try:
        command(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
