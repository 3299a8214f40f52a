"""Agents: a learning algorithm a file, policies to compare it with, commands to train and evaluate."""
