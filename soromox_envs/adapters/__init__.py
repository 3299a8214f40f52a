"""Faces of the functional environments: Gymnasium (single and batched), gymnax, SB3, brax, five-value gymnax."""
