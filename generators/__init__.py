"""Ground floor: what a task is, and how its content is written."""
