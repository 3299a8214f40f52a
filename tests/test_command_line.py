"""``soromox-envs``: what it lists, shows, plays and checks, and how it refuses."""

import subprocess
import sys

import gymnasium
import jax
import numpy as np
import pytest
from adapter_checks import DOUBLE, GOAL, REACH

import soromox_envs
from soromox_envs import check
from soromox_envs.__main__ import main
from soromox_envs.targets import DATA


def test_list_names_every_id_without_jax():
    program = (
        "import sys\n"
        "from soromox_envs.__main__ import main\n"
        "assert main(['list']) == 0\n"
        "assert 'jax' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["id", "inputs", "observations", "task", "horizon"]
    assert [line.split()[0] for line in lines] == [i for i in soromox_envs.registered() if i != DOUBLE]
    assert f"{REACH} 2 20 Reach 5 s".split() in [line.split() for line in lines]


def test_show_tells_what_the_environment_knows(capsys):
    assert main(["show", GOAL]) == 0
    shown, (env, _) = capsys.readouterr().out, soromox_envs.make(GOAL)
    for name in (
        *env.observation_names,
        *env.action_names,
        *env.task.reward_names,
        "`achieved_goal`",
        env.model.solver,
    ):
        assert name in shown


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["show", "PlanarHSA-Reech-v0"], "no environment with the id 'PlanarHSA-Reech-v0'; did you mean 'PlanarHSA-Re"),
        (["targets", "Robot"], "unknown robot 'Robot'; the suite has PlanarHSA"),
        (["rollout", REACH, "--steps", "0"], "--steps: expected a positive whole number, got '0'"),
        (["rollout", REACH, "--policy", "best"], "policy must be one of zero, random, model-based, got 'best'"),
        (["rollout", REACH, "--video", "nowhere/film.mp4"], "--video: expected a file .mp4 in a folder that exists"),
        (["rollout", REACH, "--randomization", "wild"], "randomization must be one of none, mild, hard"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(arguments, sentence, capsys):
    try:
        code = main(arguments)
    except SystemExit as exit:
        code = exit.code
    said = capsys.readouterr().err
    assert code == 2 and sentence in said and said.count("\n") == 1


def test_rollout_plays_policies_that_packages_offer(capsys):
    assert main(["rollout", REACH, "--policy", "model-based", "--steps", "40"]) == 0
    assert "model-based policy" in (said := capsys.readouterr().out) and "yes at the end" in said


def test_rollout_plays_the_episode_of_every_face(capsys, tmp_path):
    video = tmp_path / "film.mp4"
    assert main(["rollout", REACH, "--steps", "3", "--seed", "5", "--video", str(video)]) == 0
    said = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    env = gymnasium.make(REACH)
    env.reset(seed=5)
    steps = [env.step(np.zeros(2, np.float32)) for _ in range(3)]
    assert float(said["return"]) == pytest.approx(sum(step[1] for step in steps), abs=1e-3)
    first, last = (1e3 * steps[i][4]["distance"] for i in (0, -1))
    assert said["distance"] == f"{first:.1f} mm after one step, {last:.1f} mm at the end"
    assert video.stat().st_size > 1000


@pytest.mark.slow
def test_check_finds_the_contract_kept(capsys):
    assert main(["check", REACH]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 10 and all(line.startswith("ok ") for line in said)
    assert {line.split()[1] for line in said} >= {"bang-bang", "correlated", "time", "divergence:"}


def test_targets_rebuilds_the_table_of_a_robot(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr("soromox_envs.targets.rebuild", lambda *arguments: asked.append(arguments))
    assert main(["targets", "PCS"]) == main(["targets", "PCS2", "--out", str(tmp_path)]) == 0
    assert asked == [("PCS", DATA), ("PCS2", tmp_path)]


# Broken contracts


@pytest.fixture
def played() -> check.Play:
    """Four steps of two lanes whose episodes end with the third."""
    rng, shape = np.random.default_rng(0), (4, 2)
    no, limit = np.zeros(shape, bool), (np.arange(4) == 2)[:, None] & np.ones(2, bool)[None]
    obs, final = (rng.uniform(-1, 1, (*shape, 5)).astype(np.float32) for _ in range(2))
    time = np.repeat([[1], [2], [0], [1]], 2, axis=1)
    terms = {"near": rng.uniform(0, 1, shape)}
    info = {"diverged": no, "final_observation": final, "reward_terms": terms}
    return check.Play(obs, time, rng.uniform(0, 1, shape), no, limit, info)


def test_a_kept_contract_passes(played):
    env, _ = soromox_envs.make(REACH)
    assert "8 steps" in check._survives(env, played)
    assert "3 steps" in check._time_limit(played, played.obs[0], 3)


@pytest.mark.parametrize(
    "broken, sentence",
    [
        (lambda p: p._replace(reward=p.reward * np.nan), "everything returned must be finite"),
        (lambda p: p._replace(info=p.info | {"diverged": ~p.terminated}), "no state may diverge, got 8 of 8 steps"),
        (lambda p: p._replace(info=p.info | {"final_observation": 20 * p.obs}), "observations must be within 10"),
        (lambda p: p._replace(info=p.info | {"final_observation": 10 * np.sign(p.obs)}), "clipped, got 1e[+]02 %"),
        (lambda p: p._replace(info=p.info | {"reward_terms": {"near": 2 + p.reward}}), "term near must be in"),
    ],
)
def test_what_does_not_survive_is_told(played, broken, sentence):
    env, _ = soromox_envs.make(REACH)
    with pytest.raises(check.Violation, match=sentence):
        check._survives(env, broken(played))


@pytest.mark.parametrize(
    "broken, sentence",
    [
        (lambda p: p._replace(truncated=p.terminated), "must be truncated after 3 steps, and only then"),
        (lambda p: p._replace(time=p.time + 1), "must begin the next one"),
        (lambda p: p._replace(info=p.info | {"final_observation": p.obs}), "final_observation must be the old"),
        (lambda p: p._replace(obs=np.broadcast_to(p.obs[0], p.obs.shape)), "must draw a new episode"),
    ],
)
def test_a_wrong_time_limit_is_told(played, broken, sentence):
    with pytest.raises(check.Violation, match=sentence):
        check._time_limit(broken(played), played.obs[0], 3)


def test_other_bits_and_harmed_lanes_are_told(played):
    actions = jax.numpy.zeros((8, check.LANES, 1))
    with pytest.raises(check.Violation, match="the same bits"):
        check._deterministic(lambda actions: (played.obs[0], played), actions, played.obs[1], played)
    with pytest.raises(check.Violation, match="must end the episode of its lane"):
        check._divergence(lambda actions: (played.obs[0], _many(played)), actions, _many(played))


def _many(played: check.Play) -> check.Play:
    return jax.tree.map(lambda x: np.tile(x, (2, 4) + (1,) * (x.ndim - 2)), played)
