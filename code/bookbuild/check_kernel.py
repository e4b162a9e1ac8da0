"""The kernel in which a check runs a chapter: the build's, talked to by nbval."""

import ast
import contextlib
import time
from queue import Empty

from jupyter_client.manager import KernelManager
from nbval.kernel import RunningKernel

from bookbuild.kernel import Workspace


class DeadKernel(RuntimeError):
    """The kernel ended while a cell ran."""


class ChapterKernel(RunningKernel):
    """nbval's kernel, started like the build's."""

    def __init__(self, workspace: Workspace):
        # Not RunningKernel.__init__: it starts the kernel over TCP and with the user's settings.
        self.km = workspace.manager(KernelManager)
        with (workspace.path / "kernel.log").open("wb") as log:
            self.km.start_kernel(**workspace.start_arguments(), stdout=log, stderr=log)
        self.kc = self.km.client()
        self.kc.start_channels()
        try:
            self.kc.wait_for_ready(timeout=60)
        except RuntimeError:
            self.stop()
            raise

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        # With store_history, IPython sees the `;` that keeps a cell from showing its value.
        return self.kc.execute(
            cell_input, store_history=True, allow_stdin=False, stop_on_error=False
        )

    def evaluate(self, expression: str, timeout: float):
        """The value of an expression of plain literals; None where it raises or takes too long."""
        asked = {"value": expression}
        msg_id = self.kc.execute("", silent=True, store_history=False, user_expressions=asked)
        deadline = time.monotonic() + timeout
        while self.is_alive() and time.monotonic() < deadline:
            with contextlib.suppress(Empty):
                message = self.get_message("shell", timeout=1)
                if message["parent_header"].get("msg_id") == msg_id:
                    found = message["content"].get("user_expressions", {}).get("value", {})
                    text = found.get("data", {}).get("text/plain")
                    return None if text is None else ast.literal_eval(text)
        return None

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        deadline = time.monotonic() + (timeout or 3600)
        while time.monotonic() < deadline:
            try:
                return super().await_reply(msg_id, timeout=min(1, deadline - time.monotonic()))
            except Empty:
                if not self.is_alive():
                    raise DeadKernel from None
        raise Empty
