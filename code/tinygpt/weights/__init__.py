"""Weights that come with the book, each with the facts of its run beside it."""
