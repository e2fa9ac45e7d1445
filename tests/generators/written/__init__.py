"""Tests of the model writer's pure parts: answers, screens, prompts, and the order of what is asked."""
