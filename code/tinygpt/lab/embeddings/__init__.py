"""The exercises of the chapter Embeddings and positions."""

from tinygpt import scratch
from tinygpt.lab.definitions import Chapter, Exercise
from tinygpt.lab.embeddings import checks, checks_drawn, checks_positions, solutions, stubs
from tinygpt.lab.embeddings.mistakes import (
    embedding_lookup,
    nearest_rows,
    rotary,
    sinusoidal,
)
from tinygpt.scratch import positions

CHAPTER = Chapter(
    name="embeddings",
    title="Embeddings and positions",
    stubs=stubs,
    exercises=(
        Exercise(
            name="embedding_lookup",
            symbol="embedding",
            title="Looking up, and back",
            goal="Write `embedding(weight, ids)`: a row of the table for each id, and the "
            "gradient that adds up what each row is owed.",
            section="sec-embeddings-gradient",
            section_title="Backwards: rows that add up",
            stub=stubs.embedding,
            solution=scratch.embedding,
            book=scratch.embedding,
            checks=(
                checks.test_unit_embedding_lookup,
                checks.test_twice_embedding_lookup,
                checks.test_shapes_embedding_lookup,
                checks_drawn.test_drawn_embedding_lookup,
            ),
            hints=(
                "Forward is one line: `weight.data[ids]`. Before it, refuse ids below 0 and from "
                "`len(weight.data)` on; NumPy would read -1 as the last row.",
                "In `backward`, start from `np.zeros_like(weight.data)` and add each row of the "
                "gradient at the place of its id. `+=` with repeated ids keeps only one of them; "
                "`np.add.at(full, ids, grad)` keeps all.",
                "End with `weight.accumulate(full)`, which adds to a gradient that is there "
                "already, and `return Tensor.from_operation(values, (weight,), backward)`.",
            ),
            mistakes=embedding_lookup.MISTAKES,
        ),
        Exercise(
            name="nearest_rows",
            symbol="nearest_rows",
            title="The nearest rows",
            goal="Write `nearest_rows(table, row, k)`: the k rows with the largest cosine to a "
            "given one, the nearest first, without itself.",
            section="sec-embeddings-learnt",
            section_title="What a row learns",
            stub=stubs.nearest_rows,
            solution=solutions.nearest_rows,
            book=solutions.nearest_rows,
            checks=(
                checks.test_unit_nearest_rows,
                checks.test_zeros_nearest_rows,
                checks.test_opposite_nearest_rows,
                checks.test_random_nearest_rows,
                checks_drawn.test_drawn_nearest_rows,
            ),
            hints=(
                "`table @ table[row]` gives all dot products at once, (V,). Divide by both "
                "lengths; `np.linalg.norm(table, axis=1)` gives the length of every row.",
                "Give the row itself a cosine of minus infinity, so that it comes last, and sort. "
                "`np.argsort` sorts upwards; sort `-cosines` to have the largest first.",
                "A row of zeros has the length 0, and 0 / 0 is NaN. Divide by "
                "`np.maximum(lengths, 1e-30)`: then its cosine is 0.",
            ),
            mistakes=nearest_rows.MISTAKES,
        ),
        Exercise(
            name="sinusoidal",
            symbol="sinusoidal_positions",
            title="Sines and cosines",
            goal="Write `sinusoidal_positions(num_positions, dim, base)`: the table of waves, "
            "with a sine and a cosine side by side for each angle.",
            section="sec-embeddings-sinusoidal",
            section_title="Waves: sinusoidal positions",
            stub=stubs.sinusoidal_positions,
            solution=positions.sinusoidal_positions,
            book=positions.sinusoidal_positions,
            checks=(
                checks_positions.test_unit_sinusoidal,
                checks_positions.test_base_sinusoidal,
                checks_positions.test_shapes_sinusoidal,
                checks_drawn.test_drawn_sinusoidal,
            ),
            hints=(
                "There are dim / 2 angles a position. `np.arange(0, dim, 2)` is 2i, so the "
                "frequencies are `base ** (-np.arange(0, dim, 2) / dim)`.",
                "All angles at once: positions as a column, (T, 1), times frequencies, (dim/2,), "
                "gives (T, dim/2).",
                "Fill every other column: `table[:, 0::2] = np.sin(angles)`, and the cosines into "
                "`table[:, 1::2]`.",
            ),
            mistakes=sinusoidal.MISTAKES,
        ),
        Exercise(
            name="rotary",
            symbol="apply_rotary",
            title="Turning",
            goal="Write `apply_rotary(x, positions, base)`: turn each pair of features by its "
            "position times its frequency.",
            section="sec-embeddings-rotary",
            section_title="Turning instead of adding: rotary positions",
            stub=stubs.apply_rotary,
            solution=solutions.apply_rotary,
            book=positions.apply_rotary,
            checks=(
                checks_positions.test_unit_rotary,
                checks_positions.test_positions_rotary,
                checks_positions.test_gradient_rotary,
                checks_positions.test_shapes_rotary,
                checks_drawn.test_drawn_rotary,
            ),
            hints=(
                "The angles are those of the sinusoidal table, (T, d/2), for the positions that "
                "are given, or `np.arange(x.shape[-2])` for None.",
                "The pairs are made of the two halves: `a = x[..., :half]` and "
                "`b = x[..., half:]`. Cosine and sine, (T, d/2), broadcast over the axes in front.",
                "`concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)`, all with Tensor "
                "operations, and the gradient comes by itself.",
            ),
            mistakes=rotary.MISTAKES,
        ),
    ),
)
