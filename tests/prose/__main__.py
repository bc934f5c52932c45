"""Counts phrases, words and long sentences: `python -m tests.prose`; with paths, lists the hits in these files."""

import sys
from collections import Counter

from tests.prose.phrases import all_hits
from tests.prose.texts import ROOT, count_words, sentences, text_files


def main() -> None:
    """Prints the hits below the given paths, or the counts of the whole project."""
    hits, chosen = all_hits(), sys.argv[1:]
    if chosen:
        for hit in hits:
            if any(hit.path.startswith(path) for path in chosen):
                print(f"{hit.path}:{hit.line}: [{hit.phrase} -> {hit.instead}] ...{hit.excerpt}...")
        return
    print("phrases:", len(hits))
    for name, number in Counter(hit.phrase for hit in hits).most_common():
        print(f"  {number:5} {name}")
    for place, number in Counter("/".join(hit.path.split("/")[:2]) for hit in hits).most_common():
        print(f"  {number:5} {place}")
    pages = [path for path in text_files() if path.suffix == ".md" and path.name != "dataset_card.md"]
    total = long = words = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found = sentences(text)
        too_long = sum(count_words(sentence) > 30 for sentence in found)
        total, long, words = total + len(found), long + too_long, words + count_words(text)
        print(
            f"  {page.relative_to(ROOT)}: {count_words(text)} words, {too_long} of {len(found)} sentences over 30 words"
        )
    print(f"documentation: {words} words, {long} of {total} sentences over 30 words ({100 * long / total:.1f} %)")


main()
