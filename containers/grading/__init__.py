"""Grading: the end state is judged by an interpreter that never came from the sandbox."""
