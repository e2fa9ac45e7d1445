"""Where a task lives: images, engines, sandboxes, grading and proof."""
