"""Mutants of the solutions of this chapter that behave as the solutions do."""

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {
    "topological_order": [
        (
            "stack.extend(((parent, False) for parent in reversed(node.parents)))",
            "stack.extend(((parent, False) for parent in node.parents))",
            "Another order in which parents still come first; the stub asks for no one of them.",
        ),
    ],
    "unbroadcast": [
        (
            "return grad if grad.shape == shape else np.asarray(grad.sum(axis=summed))"
            ".reshape(shape)",
            "return np.asarray(grad.sum(axis=summed)).reshape(shape)",
            "Where the shapes are equal, what is summed has one copy: the same numbers, in a new "
            "array. The test of the shapes only saves that copy.",
        ),
    ],
}
