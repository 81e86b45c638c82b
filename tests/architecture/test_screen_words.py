from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import screen_words
from tools.offences import ROOT

Seed = Callable[[str, str], None]


def wrongs(file: Path) -> list[str]:
    return [
        wrong.split(";")[0].split(" (if")[0]
        for _, text in screen_words.texts(file)
        for wrong in screen_words.faults(text)
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", "<p>63 summarize the task</p>\n"),
        ("a.html", '{{ ui.figure("Tasks that summarize") }}\n'),
        ("a.html", '<input placeholder="summarize the task">\n'),
        ("a.py", 'WORDS = {"requested": "summarize the task"}\n'),
        ("a.py", 'f"{number} tasks are summarize"\n'),
        ("a.js", 'say("Tasks summarize");\n'),
    ],
)
def test_unknown_word_of_a_text_is_reported(tmp_path: Path, seed: Seed, name: str, text: str) -> None:
    seed(name, text)

    assert wrongs(tmp_path / name) == ["unknown word: 'summarize'"]


@pytest.mark.parametrize("text", ["63 summarize to stop", "task 7 is summarize to stop"])
def test_name_of_a_function_in_a_sentence_is_reported(text: str) -> None:
    assert any("'summarize'" in wrong or "summarize to stop" in wrong for wrong in screen_words.faults(text))


def test_odd_phrase_is_reported_with_a_better_one(tmp_path: Path, seed: Seed) -> None:
    seed("a.html", "<th>Drained in</th>\n")

    assert wrongs(tmp_path / "a.html") == ["odd words: 'Drained in'", "unknown word: 'Drained'"]
    assert "write 'Empty in'" in next(screen_words.faults("Drained in"))


def test_names_selectors_and_comments_are_no_texts(tmp_path: Path, seed: Seed) -> None:
    seed("a.html", '{# summarize it #}<p class="summarize it">{{ summarize(task) }}</p>\n')
    seed("a.py", '"""Summarize it."""\nNAMES = ("summarize", "tasks.summarize")\n')
    seed("a.js", '// summarize it\ndocument.querySelector(".summarize a.summarize");\n')

    assert [wrong for name in ("a.html", "a.py", "a.js") for wrong in wrongs(tmp_path / name)] == []


def test_screens_have_only_known_words() -> None:
    assert [str(offence) for offence in screen_words.offences()] == []


def test_list_of_known_words_is_sorted_and_without_duplicates() -> None:
    words = (ROOT / "tools" / "screen_words.txt").read_text("utf-8").split()

    assert words == sorted(set(words))
