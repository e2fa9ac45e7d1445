"""The model writer: a language model writes a task in stages; each answer is parsed, screened, and repaired with the exact error."""
