"""Matches a stream of answers with the questions of each subject."""

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
    """Yields each subject with the answers to its questions, in order, while later questions are in progress.

    Args:
        name: Name of the model or judge, for messages.
        answer: Function that reads questions as needed and yields one answer for each, in order.
        subjects: Subjects with their questions; a subject may have no questions.

    Raises:
        InputError: The numbers of answers and questions differ.
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
            raise InputError(f"{name}: found more answers than questions; expected one answer to each question")
        waiting[0][2].append(each)
        yield from complete()
    yield from complete()
    if waiting:
        raise InputError(f"{name}: found fewer answers than questions; expected one answer to each question")
