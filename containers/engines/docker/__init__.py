"""Docker and Podman, both by Docker's SDK."""
