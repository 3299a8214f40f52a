"""What every benchmark program does around its measurements: read options, print a table, write JSON."""

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A command line that explains itself with the module's docstring and has ``--json``."""
    arguments = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--json", type=Path, help="also write the results here")
    return arguments


def table(title: str, rows: list[dict], columns: dict[str, str]) -> str:
    """A Markdown table; every column is a heading and a format of the row, empty where a row lacks an entry."""

    def cell(form: str, row: dict) -> str:
        try:
            return form.format(**row)
        except KeyError:
            return ""

    lines = [f"| {' | '.join(columns)} |", "|---|" + "---:|" * (len(columns) - 1)]
    lines += [f"| {' | '.join(cell(form, row) for form in columns.values())} |" for row in rows]
    return "\n".join([*([title, ""] if title else []), *lines])


def report(arguments: argparse.Namespace, text: str, **result: Any) -> None:
    """Print the text; write the result and what it was measured on where ``--json`` says."""
    print(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": describe_machine(), **result}, indent=1))
