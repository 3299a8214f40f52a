"""The pages of the ids say what the code says."""

import json

import pytest
from adapter_checks import GOAL, REACH

import soromox_envs
from soromox_envs import docs
from soromox_envs.__main__ import sizes_of
from soromox_envs.pages import solver_section, table

IDS = [i for i in soromox_envs.registered() if not i.startswith("Double")]
SIZES = json.loads(docs.SIZES.read_text(encoding="utf-8"))
page_ids = pytest.mark.parametrize(
    "env_id", [pytest.param(i, marks=[] if i in (REACH, GOAL) else pytest.mark.slow) for i in IDS]
)


@page_ids
def test_a_page_is_what_the_code_writes(env_id):
    page = (docs.FOLDER / f"{env_id}.md").read_text(encoding="utf-8")
    assert page == docs.text_of(env_id, docs.read_scores()), "run python -m soromox_envs.docs"


@page_ids
def test_sizes_are_those_of_the_code(env_id):
    assert tuple(SIZES[env_id]) == sizes_of(env_id)


def test_the_index_has_every_id():
    assert list(SIZES) == IDS
    index = (docs.FOLDER / "README.md").read_text(encoding="utf-8")
    assert index == docs.index_of(IDS, SIZES, docs.read_scores())


def test_every_id_has_a_small_picture():
    for env_id in IDS:
        picture = docs.FOLDER / "images" / f"{env_id}.png"
        assert picture.stat().st_size < 15_000, env_id
        header = picture.read_bytes()[:24]
        assert header[1:4] == b"PNG" and int.from_bytes(header[16:20]) == int.from_bytes(header[20:24]) == 240, env_id


def test_a_robot_finds_its_own_solver_table():
    assert "RosenbrockW2" in solver_section("PCS2") and "6.25" in solver_section("PCS")
    assert solver_section("PCS2") != solver_section("PCS") and solver_section("Nobody") == ""


def test_tables_are_aligned():
    assert table(("a", "word"), [(1, "x"), (22, "longer")]).splitlines() == [
        "| a   | word   |",
        "| --- | ------ |",
        "| 1   | x      |",
        "| 22  | longer |",
    ]
