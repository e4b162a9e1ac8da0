"""Wrong answers as small edits of the solutions."""

import ast
import re

from tinygpt import lab

from tests.mutants import making


def edited(exercise: str, *changes: tuple[str, str]):
    """Return the solution of an exercise with pieces of its text replaced.

    Args:
        exercise: its name.
        changes: pairs of what the text holds, as Python writes the syntax tree, once, and what
            stands there instead. "return" changes every result: `("return", "return 2 *")`.
            ":" stands for the line of the definition, so that lines can be put first.
    """
    solution = lab.exercise(exercise).solution
    text = "\n".join(ast.unparse(node) for node in making.definitions(solution))
    for old, new in changes:
        if old == ":":
            start = re.compile(rf"(def {solution.__name__}\(.*\):\n)")
            text, count = start.subn(lambda found, new=new: found[1] + new + "\n", text)
        else:
            count = text.count(old)
            text = text.replace(old, new)
        if count != 1:
            raise ValueError(f"{exercise}: {old!r} should stand in the solution once, not {count}")
    return making.build(solution, text)
