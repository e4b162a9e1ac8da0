"""A whole book in miniature: what the pipeline's tests build, break and build again.

Two chapters, a front page, a companion package with a module that nobody else imports
(`waves`), one that imports another (`counts` → `helpers`), a data file, a bibliography.
Between them the chapters use the whole vocabulary.
"""

from pathlib import Path

QUARTO_YML = """\
project:
  type: book
  output-dir: _site
  execute-dir: project

book:
  title: A Tiny Book
  description: Two chapters that run.
  author: The Testers
  chapters:
    - index.qmd
    - part: Curves
      chapters:
        - book/waves.qmd
    - part: Numbers
      chapters:
        - book/counts.qmd

bibliography: book/references.bib
lang: en

execute:
  cache: true

number-sections: true

format:
  html:
    html-math-method: mathml
"""

INDEX = """\
# A Tiny Book {.unnumbered}

Start with @sec-waves, then count in @sec-counts.
"""

WAVES = """\
---
chapter:
  tier: foundations
  difficulty: 1
  hours: 1
  needs: []
---

# Waves {#sec-waves}

```{python}
from minilib.waves import sine

samples = sine(8)
print(f"{samples[2]:.3f}")
```

A wave with 8 samples has [8]{.computed expr="len(samples)"} samples.[^why]

[^why]: One for each multiple of an eighth of the turn.

::: {.callout-note title="What a sine is"}
The height of a point that goes round a circle [@euler1748].

$$
s_k = \\sin\\left(\\frac{2 \\pi k}{n}\\right)
$$ {#eq-sine}
:::

## Drawing it {#sec-drawing}

@fig-wave shows @eq-sine, and @tbl-samples four of its values.
The samples are counted again in @sec-counts.

```{python}
#| label: fig-wave
#| fig-cap: 'A turn of the sine, with [8]{.computed expr="len(samples)"} samples.'
#| fig-alt: "A curve that rises to one, falls to minus one and returns to nought."
#| code-fold: true
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(3, 2))
axes.plot(samples);
```

| k | $s_k$ |
|--:|------:|
| 0 | 0     |
| 2 | 1     |
| 4 | 0     |
| 6 | −1    |

: Four samples. {#tbl-samples}

1. A cell in a list:

   ```{python}
   print(max(samples))
   ```

2. And the next item.

::: {.panel-tabset}

## Sum

```{python}
print(f"{abs(sum(samples)):.1f}")
```

## Shown, not run

```python
sum(samples)
```

:::

::: {#exr-double}

## Twice as many

How many samples are below zero when there are [16]{.computed expr="2 * len(samples)"}?
:::

::: {.callout-tip collapse="true" title="Answer"}
Seven.
:::

## References {.unnumbered}

::: {#refs}
:::
"""

COUNTS = """\
---
data:
  - book/points.csv
---

# Counts {#sec-counts}

```{python}
from pathlib import Path

from minilib.counts import mean

points = [float(line) for line in Path("book/points.csv").read_text(encoding="utf-8").split()]
mean(points)
```

The mean of @fig-wave's neighbours is [2.5]{.computed expr="mean(points)"}.

```{python}
#| output: asis
#| echo: false
print("::: {.callout-important title=\\"Generated\\"}")
print(f"There are {len(points)} points.")
print(":::")
```

```{python}
#| label: tbl-points
#| tbl-cap: "The points and their squares."
#| output: asis
#| echo: false
print("| point | square |")
print("|------:|-------:|")
for point in points:
    print(f"| {point} | {point**2} |")
```

@tbl-points lists them.

```{python}
#| error: true
mean([])
```

```{python}
#| eval: false
mean(everything)
```
"""

REFERENCES = """\
@book{euler1748,
  author    = {Euler, Leonhard},
  title     = {Introductio in analysin infinitorum},
  publisher = {Bousquet},
  address   = {Lausanne},
  year      = {1748}
}
"""

FILES = {
    "_quarto.yml": QUARTO_YML,
    "index.qmd": INDEX,
    "book/waves.qmd": WAVES,
    "book/counts.qmd": COUNTS,
    "book/points.csv": "1\n2\n3\n4\n",
    "book/references.bib": REFERENCES,
    "code/minilib/__init__.py": '"""The tiny book\'s companion."""\n',
    "code/minilib/waves.py": (
        "import math\n\n\n"
        "def sine(n):\n"
        "    return [round(math.sin(2 * math.pi * k / n), 12) for k in range(n)]\n"
    ),
    "code/minilib/counts.py": (
        "from minilib import helpers\n\n\n"
        "def mean(values):\n"
        "    if not values:\n"
        '        raise ValueError("mean: values is empty; give at least one number")\n'
        "    return helpers.total(values) / len(values)\n"
    ),
    "code/minilib/helpers.py": "def total(values):\n    return sum(values)\n",
}


def make_tiny_book(tmp_path: Path, **changes: str | None) -> Path:
    """Write the tiny book into `tmp_path / "tinybook"` and return that folder.

    Args:
        changes: other contents for some of `FILES`, by the name of the file without its
            folder and suffix (`waves_qmd="…"` is book/waves.qmd); None leaves a file out.
    """
    root = tmp_path / "tinybook"
    names = {Path(name).name.replace(".", "_"): name for name in FILES}
    files = dict(FILES)
    for key, text in changes.items():
        files[names[key]] = text
    for name, text in files.items():
        if text is not None:
            write(root / name, text)
    return root


def write(path: Path, text: str) -> Path:
    """Write a file of a test's book, and the folder it stands in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def edit(path: Path, old: str, new: str) -> None:
    """Replace the one place where `old` stands in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path} holds {old!r} {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")
