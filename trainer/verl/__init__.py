"""What needs verl, vLLM, Ray or torch: nothing outside of this folder imports them."""
