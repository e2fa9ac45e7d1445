"""The families of the procedural writer, a folder per domain and a module per family."""
