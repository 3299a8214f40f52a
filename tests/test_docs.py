"""The code of the documentation runs as it stands there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def blocks(page: str) -> list[str]:
    """The Python blocks of a page, in order."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["docs/robots.md", pytest.param("README.md", marks=pytest.mark.slow)])
def test_the_blocks_of_a_page_run_as_one_script(page):
    scripts = blocks(page)
    assert scripts
    scope: dict = {}
    for script in scripts:
        exec(compile(script, page, "exec"), scope)
