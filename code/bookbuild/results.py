"""What a cell of a downloaded notebook shows before it is run: what the page shows."""

import re

from nbformat import NotebookNode
from nbformat.v4 import new_output

from bookbuild.cells import IMAGES, clean, is_plot_object, joined, richest
from bookbuild.options import Options

_COMPUTED = re.compile(r"\[([^\]]*)\]\{\.computed[^}]*\}")


def results(options: Options, outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs that the page shows, without colours and places on the machine that ran them.

    An image says what it shows where it is not drawn; what is printed as Markdown stands in the
    text.
    """
    if not options.include or not options.output or options.output == "asis":
        return []
    drawn = sum(richest(output) in IMAGES for output in outputs)
    alts = options.alts if len(options.alts) == drawn else options.alts * drawn
    said = iter(_COMPUTED.sub(r"\1", alt) for alt in alts)
    kept = []
    for output in outputs:
        kind = richest(output)
        if output.output_type == "stream":
            if output.name != "stderr" or options.warning:
                text = clean(joined(output.text)) + "\n"
                kept.append(new_output("stream", name=output.name, text=text))
        elif output.output_type == "error":
            line = f"{output.ename}: {clean(output.evalue)}"
            kept.append(
                new_output("error", ename=output.ename, evalue=output.evalue, traceback=[line])
            )
        elif not is_plot_object(output, drawn > 0):
            data = {kind: joined(output.data[kind])}
            if kind in IMAGES:
                data["text/plain"] = next(said, "")
            elif "text/plain" in output.data:
                data["text/plain"] = clean(joined(output.data["text/plain"]))
            metadata = {kind: output.metadata[kind]} if kind in output.metadata else {}
            kept.append(new_output("display_data", data=data, metadata=metadata))
    return kept
