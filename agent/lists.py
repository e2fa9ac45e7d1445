"""What an agent writes down for itself: things to do, and notes. They live outside the sandbox."""

from __future__ import annotations

from agent.actions import Todo, TodoAdd, TodoComplete, TodoDelete
from agent.prepared import ActionFailure


class TodoList:
    """Things to do, numbered from 1; a number is never used again."""

    def __init__(self) -> None:
        self._items: dict[int, tuple[str, bool]] = {}
        self._added = 0

    def change(self, action: Todo) -> str:
        """Do the operations in order, and give the list as it is then.

        Raises:
            ActionFailure: one named an item that is not there; the others were done.
        """
        problems: list[str] = []
        for operation in action.operations:
            if isinstance(operation, TodoAdd):
                self._added += 1
                self._items[self._added] = (operation.content, False)
            elif isinstance(operation, TodoComplete | TodoDelete):
                problems += self._close(operation)
        if problems:
            raise ActionFailure("\n".join([*problems, self.rendered()]))
        return self.rendered()

    def _close(self, operation: TodoComplete | TodoDelete) -> list[str]:
        number = operation.task_id
        if number not in self._items:
            return [f"{operation.action}: there is no item {number}"]
        if isinstance(operation, TodoDelete):
            del self._items[number]
        else:
            self._items[number] = (self._items[number][0], True)
        return []

    def rendered(self) -> str:
        """A line per item."""
        lines = [f"{number}. [{'x' if done else ' '}] {text}" for number, (text, done) in self._items.items()]
        return "\n".join(lines) or "nothing to do"


class Notes:
    """Notes to oneself, numbered from 1."""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def add(self, content: str) -> str:
        """Keep a note."""
        self._notes.append(content)
        return f"note {len(self._notes)} kept"

    def rendered(self) -> str:
        """All notes."""
        return "\n".join(f"{number}. {note}" for number, note in enumerate(self._notes, 1)) or "no notes"
