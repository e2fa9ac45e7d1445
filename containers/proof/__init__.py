"""Proof: the gates a task passes and the evidence they leave."""
