"""Mutants of the solutions of this chapter that behave as the solutions do."""

_ORDER = "which of equal scores come first is not asked, only how many of them stay"
_SORT = "order = logits.argsort(dim=-1, descending=True, stable=True)"
_SORT_P = "ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)"

EQUIVALENT: dict[str, list[tuple[str, str, str]]] = {
    "top_k": [
        (_SORT, _SORT.replace(", stable=True", ""), _ORDER),
        (_SORT, _SORT.replace("True)", "False)"), _ORDER),
    ],
    "top_p": [
        (_SORT_P, _SORT_P.replace(", stable=True", ""), _ORDER),
        (_SORT_P, _SORT_P.replace("True)", "False)"), _ORDER),
        (
            "kept = torch.zeros_like(kept_in_order).scatter(-1, order, kept_in_order)",
            "kept = torch.ones_like(kept_in_order).scatter(-1, order, kept_in_order)",
            "order names every place once, so that nothing is left of what was there before",
        ),
    ],
}
