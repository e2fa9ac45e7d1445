"""A pool of worker threads, used for {thing}."""
import threading
from collections import deque


class {closed}(Exception):
    """The pool takes nothing any more."""


class {pool}:
    def __init__(self, workers, handler, capacity=16, on_start=None, key=None):
        self.handler, self.capacity, self.on_start, self.key = handler, capacity, on_start, key
        self.{results}, self.{failures} = [], []
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._room = threading.Condition(self._lock)
        self._idle = threading.Condition(self._lock)
        self._waiting = deque()
        self._pending = 0
        self._busy = set()
        self._closed = False
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def {submit}(self, item):
        key = self.key(item) if self.key else None
        inside = threading.current_thread() in self._threads
        with self._lock:
            if self._closed and not inside:
                raise {closed}()
            while not inside and not self._closed and len(self._waiting) >= self.capacity:
                self._room.wait()
            if self._closed and not inside:
                raise {closed}()
            self._waiting.append((key, item))
            self._pending += 1
            self._work.notify()

    def {drain}(self):
        with self._lock:
            while self._pending:
                self._idle.wait()

    def {close}(self):
        with self._lock:
            self._closed = True
            self._work.notify_all()
            self._room.notify_all()
        for thread in self._threads:
            thread.join()

    def _next(self):
        for entry in self._waiting:
            if entry[0] is None or entry[0] not in self._busy:
                return entry
        return None

    def _run(self):
        while True:
            with self._lock:
                entry = self._next()
                while entry is None:
                    if self._closed and not self._pending:
                        return
                    self._work.wait()
                    entry = self._next()
                self._waiting.remove(entry)
                self._busy.add(entry[0])
                self._room.notify()
            key, item = entry
            try:
                if self.on_start:
                    self.on_start(item)
                value = self.handler(item)
            except Exception as error:
                self._done(key, self.{failures}, (item, error))
            else:
                self._done(key, self.{results}, (item, value))

    def _done(self, key, where, pair):
        with self._lock:
            where.append(pair)
            self._busy.discard(key)
            self._pending -= 1
            self._work.notify_all()
            if not self._pending:
                self._idle.notify_all()
