"""A pool of worker threads, used for {thing}."""
import threading


class {closed}(Exception):
    """The pool takes nothing any more."""


class {pool}:
    """One monitor, everybody is woken at every change."""

    def __init__(self, workers, handler, capacity=16, on_start=None, key=None):
        self.handler, self.capacity, self.on_start, self.key = handler, capacity, on_start, key
        self.{results}, self.{failures} = [], []
        self._monitor = threading.Condition()
        self._lanes, self._free, self._number = {}, [], 0
        self._queued = self._running = 0
        self._open = True
        self._local = threading.local()
        self._threads = []
        for _ in range(workers):
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()

    def {submit}(self, item):
        worker = getattr(self._local, "worker", False)
        lane = self.key(item) if self.key else object()
        with self._monitor:
            if not worker:
                self._monitor.wait_for(lambda: not self._open or self._queued < self.capacity)
                if not self._open:
                    raise {closed}()
            if lane in self._lanes:
                self._lanes[lane].append(item)
            else:
                self._lanes[lane] = [item]
                self._free.append(lane)
            self._queued += 1
            self._monitor.notify_all()

    def {drain}(self):
        with self._monitor:
            self._monitor.wait_for(lambda: self._queued + self._running == 0)

    def {close}(self):
        with self._monitor:
            self._open = False
            self._monitor.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self):
        self._local.worker = True
        while True:
            with self._monitor:
                self._monitor.wait_for(lambda: self._free or not (self._open or self._queued + self._running))
                if not self._free:
                    return
                lane = self._free.pop(0)
                item = self._lanes[lane].pop(0)
                self._queued -= 1
                self._running += 1
                self._monitor.notify_all()
            target = self.{failures}
            try:
                if self.on_start is not None:
                    self.on_start(item)
                outcome = self.handler(item)
                target = self.{results}
            except BaseException as problem:
                outcome = problem
            with self._monitor:
                target.append((item, outcome))
                self._running -= 1
                if self._lanes[lane]:
                    self._free.append(lane)
                else:
                    del self._lanes[lane]
                self._monitor.notify_all()
