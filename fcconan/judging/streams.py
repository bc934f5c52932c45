"""Answers matched with what was asked: several questions about one thing, answered in order and as a stream."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from fcconan.errors import InputError

Subject = TypeVar("Subject")
Question = TypeVar("Question")
Answer = TypeVar("Answer")


def match_answers(
    name: str,
    answer: Callable[[Iterator[Question]], Iterable[Answer]],
    subjects: Iterable[tuple[Subject, Sequence[Question]]],
) -> Iterator[tuple[Subject, list[Answer]]]:
    """Yields each subject with the answers to its questions, in their order, while later ones are being asked about.

    Args:
        name: Who answers, for messages.
        answer: Yields one answer for each question, in their order, reading the questions as they are needed.
        subjects: Each with its questions, of which there may be none.

    Raises:
        InputError: There are more or fewer answers than questions.
    """
    waiting: deque[tuple[Subject, int, list[Answer]]] = deque()

    def questions() -> Iterator[Question]:
        for subject, asked in subjects:
            waiting.append((subject, len(asked), []))
            yield from asked

    def complete() -> Iterator[tuple[Subject, list[Answer]]]:
        while waiting and len(waiting[0][2]) == waiting[0][1]:
            subject, _, found = waiting.popleft()
            yield subject, found

    for each in answer(questions()):
        yield from complete()
        if not waiting:
            raise InputError(f"{name}: gave more answers than it was asked for; expected one for every question")
        waiting[0][2].append(each)
        yield from complete()
    yield from complete()
    if waiting:
        raise InputError(f"{name}: gave fewer answers than it was asked for; expected one for every question")
