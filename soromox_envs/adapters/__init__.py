"""Faces of the functional environments: Gymnasium (single and batched), gymnax, Stable-Baselines3, brax, five values."""
