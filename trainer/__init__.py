"""What learns from tasks: reward, judge, presets and the verl job."""
