"""How an agent worked, judged: a rubric as data, judges by rules and by models, a backend that can be swapped while training runs."""
