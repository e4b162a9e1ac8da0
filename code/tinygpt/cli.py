"""The command `tinygpt`, from its start to its exit code; `tinygpt.commands` has the commands.

Exit codes: 0 done (all that was checked is solved), 1 not, 2 wrong usage, 130 interrupted.
"""

import contextlib
import os
import sys


def main() -> None:
    """Run the command line with UTF-8 output in every locale."""
    try:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(encoding="utf-8", errors="replace")
        code = _run()
    except KeyboardInterrupt:
        print("Interrupted; what was finished is kept.", file=sys.stderr)
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


def _run() -> int | None:
    # Imported here, where Ctrl-C is met: it takes long enough to be interrupted.
    import click

    from tinygpt.commands import tinygpt
    from tinygpt.lab.definitions import LabError

    try:
        code = tinygpt.main(standalone_mode=False)
        if sys.stdout is not None:  # closed by whoever started us
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except LabError as error:
        click.echo(str(error), err=True)
        code = 2
    except click.Abort:  # click's word for Ctrl-C
        raise KeyboardInterrupt from None
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        click.echo(f"tinygpt stopped: {error}", err=True)
        code = 1
    return code
