"""What happened in a run: a table with a row for each step, and its picture."""

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

from tinygpt.files import write_whole

COLUMNS = (
    "step",
    "loss",
    "learning_rate",
    "gradient_norm",
    "train_loss",
    "validation_loss",
    "tokens_per_second",
)


class LogError(RuntimeError):
    """A log that cannot be read or written."""


@dataclass
class History:
    """A run, step by step; losses are in nats per token.

    Attributes:
        steps: number of each step, counted from 1.
        losses: loss of its batch, before the update.
        learning_rates: its rate.
        gradient_norms: length of its gradient before clipping.
        eval_steps: the steps after which the model was evaluated.
        train_losses: its loss on the same random batches of the training text each time.
        validation_losses: the same on the validation text.
        tokens_per_second: speed of training since the evaluation before.
    """

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    learning_rates: list[float] = field(default_factory=list)
    gradient_norms: list[float] = field(default_factory=list)
    eval_steps: list[int] = field(default_factory=list)
    train_losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    tokens_per_second: list[float] = field(default_factory=list)

    def note_step(self, step: int, loss: float, learning_rate: float, gradient_norm: float):
        """Add a step."""
        self.steps.append(step)
        self.losses.append(loss)
        self.learning_rates.append(learning_rate)
        self.gradient_norms.append(gradient_norm)

    def note_evaluation(self, step: int, train: float, validation: float, speed: float):
        """Add an evaluation, after the step of this number."""
        self.eval_steps.append(step)
        self.train_losses.append(train)
        self.validation_losses.append(validation)
        self.tokens_per_second.append(speed)

    def rows(self, after: int = 0) -> list[list[str]]:
        """Return the table's rows for the steps after this one."""
        evaluations = {
            step: [repr(train), repr(validation), f"{speed:.0f}"]
            for step, train, validation, speed in zip(
                self.eval_steps,
                self.train_losses,
                self.validation_losses,
                self.tokens_per_second,
                strict=True,
            )
        }
        return [
            [str(step), repr(loss), repr(rate), repr(norm), *evaluations.get(step, ["", "", ""])]
            for step, loss, rate, norm in zip(
                self.steps, self.losses, self.learning_rates, self.gradient_norms, strict=True
            )
            if step > after
        ]

    def until(self, step: int) -> "History":
        """Return the history up to a step."""
        kept = sum(each <= step for each in self.steps)
        evaluated = sum(each <= step for each in self.eval_steps)
        return History(
            *(column[:kept] for column in (self.steps, self.losses)),
            *(column[:kept] for column in (self.learning_rates, self.gradient_norms)),
            *(column[:evaluated] for column in (self.eval_steps, self.train_losses)),
            *(column[:evaluated] for column in (self.validation_losses, self.tokens_per_second)),
        )

    def write(self, path: Path):
        """Write the whole table as comma-separated values, beside its place and then into it."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *self.rows()])
        write_whole("train", path, text.getvalue().encode("utf-8"))

    @classmethod
    def read(cls, path: Path) -> "History":
        """Read what `write` wrote, or rows that were added to it; half a last row is left out.

        Raises:
            LogError: there is no such file, or it is not such a table.
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        except (OSError, UnicodeDecodeError) as error:
            raise LogError(f"{path}: cannot be read ({error})") from None
        try:
            rows = list(csv.reader(line for line in lines if line.endswith("\n")))
        except csv.Error as error:
            raise LogError(f"{path}: cannot be read ({error})") from None
        if not rows or tuple(rows[0]) != COLUMNS:
            raise LogError(f"{path}: the first line must be {','.join(COLUMNS)}")
        history = cls()
        for number, row in enumerate(rows[1:], 2):
            try:
                step, loss, rate, norm, train, validation, speed = row
                history.note_step(int(step), float(loss), float(rate), float(norm))
                if train:
                    history.note_evaluation(
                        int(step), float(train), float(validation), float(speed)
                    )
            except ValueError:
                raise LogError(f"{path}:{number}: not a row of {len(COLUMNS)} numbers") from None
        return history

    def plot(self, path: Path):
        """Draw the losses of the batches and of the evaluations against the steps."""
        from matplotlib.figure import Figure

        from tinygpt.figures import COLORS

        figure = Figure(figsize=(6.4, 4.0), dpi=150, layout="constrained")
        ax = figure.add_subplot(xlabel="step", ylabel="loss, nats per token")
        ax.plot(self.steps, self.losses, color=COLORS["reference"], linewidth=0.6, label="batch")
        ax.plot(self.eval_steps, self.train_losses, "o-", color=COLORS["query"], label="training")
        ax.plot(
            self.eval_steps, self.validation_losses, "o-", color=COLORS["key"], label="validation"
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
        picture = io.BytesIO()
        figure.savefig(picture, format="png")
        write_whole("train", path, picture.getvalue())


class Log:
    """The table on the disk, a row longer after each step."""

    def __init__(self, path: Path, history: History):
        history.write(path)  # a resumed run goes on where its checkpoint was
        self._path = path
        self._file = open(path, "a", encoding="utf-8", newline="")  # noqa: SIM115
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._written = history.steps[-1] if history.steps else 0

    def add(self, history: History):
        """Append the rows that are not there yet."""
        try:
            self._writer.writerows(history.rows(self._written))
            self._file.flush()
        except OSError as error:
            raise LogError(f"{self._path}: cannot be written ({error.strerror})") from None
        self._written = history.steps[-1] if history.steps else 0

    def close(self):
        """Close the file."""
        self._file.close()
