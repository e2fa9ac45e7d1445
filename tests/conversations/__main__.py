"""The conversations served by hand: `python -m tests.conversations --port 8123` prints the URL and answers until it is stopped."""

from __future__ import annotations

import argparse
import threading

from tests.conversations import Conversations, load
from tests.provider import Provider

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("names", nargs="*", help="which conversations; all without")
    given = parser.parse_args()
    with Provider(Conversations(load(given.names)), given.port) as server:
        print(server.url, flush=True)
        threading.Event().wait()
