"""What a chapter's page says about its exercises, made from the lab and the front matter.

Each function prints Markdown, for a cell with `output: asis`. The failures are run: the
message on the page is the message from the run.
"""

from pathlib import Path

from tinygpt.lab.chapters import find_chapter, find_exercise
from tinygpt.lab.definitions import Chapter, Exercise, LabError, Mistake
from tinygpt.lab.grading import grade, without_line
from tinygpt.lab.listing import source_text

_FACTS = ("tier", "difficulty", "hours", "needs", "notebook")


def header(chapter: str) -> None:
    """Print the chapter's facts from the `chapter:` mapping of its front matter.

    The mapping holds `tier`, `difficulty` (1 to 5), `hours`, `needs` (a list) and, if there
    is one to link to, `notebook`.

    Raises:
        LabError: there is no such chapter or front matter, or a value in it is not allowed.
    """
    chosen = find_chapter(chapter)
    facts = _facts(chosen)
    difficulty = facts["difficulty"]
    lines = [
        f"- **Tier:** {facts['tier']}",
        f"- **Difficulty:** {'●' * difficulty}{'○' * (5 - difficulty)} ({difficulty} of 5)",
        f"- **Time:** {facts['hours']} hours, with the exercises",
        f"- **What to know first:** {'; '.join(facts['needs']) or 'nothing from this book'}",
        f"- **Exercises:** {len(chosen.exercises)}, checked by `tinygpt lab check {chosen.name}`",
    ]
    if facts.get("notebook"):
        name = Path(facts["notebook"]).name
        lines.append(f"- **Notebook:** [{name}]({facts['notebook']})")
    _print(_callout("note .box-facts", "Chapter facts", "\n".join(lines)))


def workflow(chapter: str) -> None:
    """Print the commands, in the order in which a student needs them."""
    chosen = find_chapter(chapter)
    name, first = chosen.name, chosen.exercises[0]
    commands = [
        (f"tinygpt lab start {name}", f"write {chosen.file_name} here"),
        (f"tinygpt lab check {name}", f"check all {len(chosen.exercises)}"),
        (f"tinygpt lab check {name} {first.name}", "check one"),
        (f"tinygpt lab hint {name} {first.name}", "show the next hint"),
        (f"tinygpt lab solution {name} {first.name}", "show an answer"),
        ("tinygpt lab", "what is solved, and where to read"),
    ]
    width = max(len(command) for command, _ in commands)
    block = "\n".join(f"{command:<{width}}  # {what}" for command, what in commands)
    _print(
        f"You write the exercises in a file of your own, `{chosen.file_name}`. "
        "The command `tinygpt` writes it with everything but the answers, and checks it as often "
        "as you like:",
        f"```bash\n{block}\n```",
        "In a notebook the same checks take the thing itself:",
        f'```python\nlab.check("{first.name}", {first.symbol})\nlab.hint("{first.name}")\n```',
    )


def what_you_write(chapter: str) -> None:
    """Print a table of the exercises: what to write, and what to read for it."""
    chosen = find_chapter(chapter)
    rows = [(f"`{e.name}`", e.goal, f"@{e.section}") for e in chosen.exercises]
    caption = f"**What you write.** The exercises of {chosen.title}, in the order of the chapter."
    _print(_table(("exercise", "what you write", "read"), rows, caption, f"{chosen.name}-write"))


def checks(chapter: str) -> None:
    """Print a table of the checks and what each one holds."""
    chosen = find_chapter(chapter)
    rows = [
        (f"`{check.__name__}`", _first_sentence(check))
        for exercise in chosen.exercises
        for check in exercise.checks
    ]
    caption = (
        "**How you know it works.** The checks of each exercise run in this order and stop at "
        "the first failure."
    )
    _print(_table(("check", "what it holds"), rows, caption, f"{chosen.name}-checks"))


def failures(chapter: str, exercise: str | None = None, *, fold: bool = True) -> None:
    """Print the wrong answers, each with the message from running it, and the explanation.

    Args:
        chapter: the chapter.
        exercise: one of its exercises; None: all of them.
        fold: whether each exercise's list is a callout to open.

    Raises:
        LabError: a mistake no longer gives its documented message.
    """
    chosen = find_chapter(chapter)
    for each in chosen.exercises if exercise is None else [find_exercise(exercise, chosen)]:
        entries = "\n\n".join(_failure(each, mistake) for mistake in each.mistakes)
        names = ", ".join(f"`{mistake.name}`" for mistake in each.mistakes)
        entries += (
            "\n\nTo run one of them, write "
            f'`lab.run_mistake("{each.name}", "{each.mistakes[0].name}")`; '
            f"in the order above they are called {names}."
        )
        title = f"{each.title}: {len(each.mistakes)} wrong versions"
        _print(_callout("caution", title, entries, fold=True) if fold else entries)


def exercises(chapter: str, *, stubs: bool = False) -> None:
    """Print each exercise as a numbered block with its goal and its folded hints.

    Args:
        chapter: the chapter.
        stubs: whether to show what the student starts from.
    """
    chosen = find_chapter(chapter)
    for exercise in chosen.exercises:
        parts = [f"{exercise.goal} Read @{exercise.section} for it."]
        if stubs:
            parts.append(f"```python\n{source_text(exercise.stub)}\n```")
        parts.append(f"```bash\ntinygpt lab check {chosen.name} {exercise.name}\n```")
        parts += [
            _callout("tip", f"Hint {number} of {len(exercise.hints)}", hint, fold=True)
            for number, hint in enumerate(exercise.hints, start=1)
        ]
        body = "\n\n".join(parts)
        anchor = f"exr-{chosen.name}-{exercise.name}".replace("_", "-")
        _print(f':::: {{#{anchor} name="{exercise.title}"}}\n{body}\n::::')


def read_why(chapter: str) -> None:
    """Print where the chapter explains each thing that the student has written."""
    chosen = find_chapter(chapter)
    lines = [f"- `{exercise.symbol}`: @{exercise.section}" for exercise in chosen.exercises]
    _print("When a check passes, read why it had to be so:", "\n".join(lines))


def _failure(exercise: Exercise, mistake: Mistake) -> str:
    result = grade(exercise, mistake.answer)
    message = without_line(result.message)
    if message != mistake.message:
        raise LabError(
            f"The mistake {mistake.name} of {exercise.name} now gives {message!r}, "
            f"documented is {mistake.message!r}"
        )
    source = f"From `{result.check}`." if result.check else "From the signature."
    return f"`{message}`\n: {source} {mistake.explanation}"


def _callout(kind: str, title: str, body: str, *, fold: bool = False) -> str:
    folded = ' collapse="true"' if fold else ""
    return f'::: {{.callout-{kind}{folded} title="{title}"}}\n{body}\n:::'


def _table(heads, rows, caption: str, label: str) -> str:
    lines = [_row(heads), "|" + ":--|" * len(heads), *(_row(row) for row in rows)]
    return "\n".join(lines) + f"\n\n: {caption} {{#tbl-{label}}}"


def _row(cells) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _first_sentence(check) -> str:
    return " ".join((check.__doc__ or "").split("\n\n")[0].split())


def _print(*blocks: str) -> None:
    print("\n\n".join(blocks) + "\n")


def _facts(chapter: Chapter) -> dict:
    path = _book_root() / "book" / f"{chapter.name}.qmd"
    where = f"book/{path.name}"
    facts = _front_matter(path, where).get("chapter")
    if not isinstance(facts, dict):
        raise LabError(f"{where}: the front matter needs a mapping `chapter:` with {_listed()}")
    if unknown := [str(key) for key in facts if key not in _FACTS]:
        raise LabError(f"{where}: `chapter:` has {unknown[0]}; known are {_listed()}")
    for key in ("tier", "hours"):
        if not isinstance(facts.get(key), (str, int, float)):
            raise LabError(f"{where}: `chapter:` needs {key}, a text or a number")
    difficulty = facts.get("difficulty")
    if difficulty not in (1, 2, 3, 4, 5) or isinstance(difficulty, bool):
        raise LabError(f"{where}: difficulty must be a whole number from 1 to 5, got {difficulty}")
    needs = facts.get("needs") or []
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        raise LabError(f"{where}: needs must be a list of texts, such as `@sec-attention`")
    return facts | {"needs": needs}


def _front_matter(path: Path, where: str) -> dict:
    import yaml  # not needed in a downloaded notebook

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{where}: cannot be read: {error}") from None
    marks = [number for number, line in enumerate(lines) if line.rstrip() in ("---", "...")]
    if len(marks) < 2 or marks[0] != 0:
        raise LabError(f"{where}: there is no front matter between two lines ---")
    try:
        front = yaml.safe_load("\n".join(lines[1 : marks[1]]))
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise LabError(f"{where}: the front matter is not YAML: {text}") from None
    return front if isinstance(front, dict) else {}


def _book_root() -> Path:
    folder = Path.cwd()
    for candidate in (folder, *folder.parents):
        if (candidate / "_quarto.yml").is_file():
            return candidate
    raise LabError(f"page.header: {folder} is not inside a book: no _quarto.yml here or above")


def _listed() -> str:
    return ", ".join(_FACTS)
