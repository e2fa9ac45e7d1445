"""Who attempts a task: actions, episode loop, models, attempts, failure analysis."""
