"""A book that shows the reader everything the vocabulary has, at its widest and longest.

Its chapters are executed and rendered by the pipeline like any other.
"""

from pathlib import Path

QUARTO_YML = """\
project:
  type: book
  output-dir: _site
  execute-dir: project
book:
  title: The Specimen
  description: Every construct, on few pages.
  author: The Testers
  repo-url: https://example.org/specimen
  chapters:
    - index.qmd
    - part: First part
      chapters: [book/blocks.qmd, book/figures.qmd]
    - part: Second part
      chapters: [book/last.qmd, book/glossary.qmd]
license: CC BY 4.0
bibliography: book/references.bib
lang: en
number-sections: true
format:
  html:
    html-math-method: mathml
"""

INDEX = """\
# The Specimen {.unnumbered}

Begin with @sec-blocks. The figures are in @sec-figures, the widest in @fig-wide.
"""

BLOCKS = '''\
# Blocks of *every* kind {#sec-blocks}

Prose with `inline_code(argument, another=None)`, *emphasis*, a note,[^long] a second,[^two]
a citation [@knuth1984], one in the text by @lamport1994, and a [link elsewhere](https://example.org/).
A number: [8]{.computed expr="2 ** 3"}; another: [1,024]{.computed expr="f'{2 ** 10:,}'"}.

[^long]: The note on quokkas, which says `more` about @eq-long.
[^two]: Short.

## Callouts {#sec-callouts}

::: {.callout-note title="A note with `code` in its title"}
Text, a formula $x_i^2$, and code:

```python
print("in a callout")
```
:::

::: {.callout-tip collapse="true" title="A folded tip"}
The folded text holds [42]{.computed expr="6 * 7"} and the word marmalade.
:::

::: {.callout-important}
Without a title.
:::

::: {.callout-caution appearance="simple" title="Simple"}
Text.
:::

::: {.callout-warning icon="false" title="No icon"}
- a list
- of two
:::

## Cells and code {#sec-cells}

```{python}
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Thing:
    """A docstring."""

    width: int = 768  # a comment

    def parts(self) -> list[float]:
        try:
            return [1.5 * i for i in range(self.width) if i % 64 == 0 and i is not None]
        except ValueError as error:
            raise RuntimeError(f"nothing: {error!r}\\n") from error


print(len(Thing().parts()), "parts, and a line that is too long " "for any column of a book's page")
np.arange(4)
```

```{python}
#| error: true
#| code-fold: true
#| code-summary: "Show what fails"
[].pop()
```

1. A list with a cell:

   ```{python}
   print("in a list")
   ```

2. And a table:

   | a | b |
   |---|--:|
   | x | 1 |

Term
:   Its definition.

> A quotation.

```bash
echo "not run" && ls -la | grep "\\.py$"
```

```
plain text, as it is
```

::: {.panel-tabset}

## NumPy

Array tab, with `np.tril`.

```python
np.tril(np.ones((3, 3)))
```

## PyTorch

Tensor tab, with a hidden zebra.
:::

### Formulas {#sec-formulas}

$$
\\mathrm{softmax}(z)_i = \\frac{e^{z_i}}{\\sum_{j=1}^{V} e^{z_j}} \\qquad
\\left(\\frac{Q K^\\top}{\\sqrt{d_k}} + M\\right) V
$$ {#eq-softmax}

$$
\\begin{aligned}
\\mu &= \\frac{1}{C} \\sum_{i=1}^{C} x_i \\\\
\\sigma^2 &= \\frac{1}{C} \\sum_{i=1}^{C} (x_i - \\mu)^2
\\end{aligned}
$$

$$
f(a, b, c, d, e) = a_1 + a_2 + a_3 + a_4 + a_5 + b_1 + b_2 + b_3 + b_4 + b_5
+ c_1 + c_2 + c_3 + c_4 + c_5 + d_1 + d_2 + d_3 + d_4 + e_1 + e_2
$$ {#eq-long}

@eq-softmax is short and @eq-long is not.

## Exercises

::: {#exr-first}

## A title

Count the quokkas.
:::

::: {.panel-tabset}

## NumPy

The same tabs again.

## PyTorch

They change together.
:::

## References {.unnumbered}

::: {#refs}
:::
'''

FIGURES = """\
# Figures and tables {#sec-figures}

@fig-wide, @fig-drawn, @fig-pair and @tbl-wide. Back to @sec-callouts, @eq-softmax and @exr-first.

```{python}
#| label: fig-wide
#| fig-cap: 'A line that rises to [4]{.computed expr="max(range(5))"}.'
#| fig-alt: "A straight line from the lower left to the upper right."
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(range(5));
```

::: {#fig-drawn}

![](../assets/drawing.svg){fig-alt="A box with the word input and an arrow out of it"}

A drawing with its own text.
:::

```{python}
#| label: fig-pair
#| fig-cap: "Two of them."
#| fig-subcap: ["rising", "falling"]
#| fig-alt: ["A rising line", "A falling line"]
#| layout-ncol: 2
for sign in (1, -1):
    figure, axes = plt.subplots(figsize=(3, 2))
    axes.plot([0, sign])
    plt.show()
```

| part | parameters | operations per sequence | memory in float32 | measured milliseconds | rank |
|:-----|----:|---:|---:|---:|---:|
| embedding_of_all_the_tokens | 38,400,000 | 0 | 147,000,000 | 0.01 | 1 |
| attention_in_all_the_blocks | 28,348,416 | 12,884,901,888 | 108,000,000 | 604.02 | 2 |

: A table that no phone is wide enough for. {#tbl-wide}

## Long words

Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft and
`a_name_without_any_place_to_break_it_that_goes_on_and_on_and_on_and_on_for_ever` and
<https://example.org/an/address/that/goes/on/and/on/without/a/single/blank/in/it/at/all>.
"""

LAST = """\
# The last chapter {#sec-last}

LayerNorm and `create_causal_mask` stand here, and a wallaby. Naïveté too.

## On wallabies {#sec-wallabies}

Wallabies, at length: a wallaby is a small macropod.

### Attention {#sec-attention}

Nothing on animals.
"""

GLOSSARY = """\
# The words {#sec-words}

One sentence each.

| term | what it is |
|:--|:--|
| macropod | a kangaroo or its kin |
| colour, hue | what a tokeniser of light gives |
| over-heating | getting too warm |

: Words. {#tbl-words}
"""

SYNONYMS = """\
- [MCP, macropod]
- [n_legs, number of legs, create_causal_mask]
"""

REFERENCES = """\
@book{knuth1984, author = {Knuth, Donald E.}, title = {The TeXbook}, year = {1984},
  publisher = {Addison-Wesley}}
@book{lamport1994, author = {Lamport, Leslie}, title = {LaTeX}, year = {1994},
  publisher = {Addison-Wesley}, url = {https://example.org/latex}}
"""

DRAWING = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 80" font-size="14"
     aria-labelledby="d-name">
  <title id="d-name">Input</title>
  <style>
    .d-paper { fill: var(--svg-paper, #fff); }
    .d-ink { fill: var(--svg-ink, #111); }
    #d-small { font-size: 12px; }
  </style>
  <defs>
    <marker id="d-tip" viewBox="0 0 8 8" markerWidth="6"><path d="M0 0L8 4L0 8"/></marker>
    <linearGradient id="d-shade"><stop offset="0" stop-color="#08f"/></linearGradient>
  </defs>
  <rect class="d-paper" width="600" height="80"/>
  <rect fill="url(#d-shade)" x="400" width="50" height="50"/>
  <path d="M100 40H300" stroke="#888" marker-end="url(#d-tip)"/>
  <text class="d-ink" id="d-small" x="20" y="45">input</text>
</svg>
"""

FILES = {
    "_quarto.yml": QUARTO_YML,
    "index.qmd": INDEX,
    "book/blocks.qmd": BLOCKS,
    "book/figures.qmd": FIGURES,
    "book/last.qmd": LAST,
    "book/glossary.qmd": GLOSSARY,
    "book/synonyms.yml": SYNONYMS,
    "book/references.bib": REFERENCES,
    "assets/drawing.svg": DRAWING,
}


def write_specimen(root: Path) -> Path:
    """Write the book into `root`, and return it."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return root
