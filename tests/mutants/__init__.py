"""Careless one-line edits of the program, and how many of them the tests notice."""
