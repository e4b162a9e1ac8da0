"""The companion package of *The Executable GPT*.

`tinygpt.scratch` is the book's own engine in NumPy, `tinygpt.data` its corpus,
`tinygpt.lab` its exercises.
"""

__version__ = "0.1.0"
