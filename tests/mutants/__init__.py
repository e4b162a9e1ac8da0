"""Mutants of the exercises' solutions: do the checks find what is wrong with them?"""
