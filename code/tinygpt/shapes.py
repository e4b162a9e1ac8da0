"""Array types that carry their shapes: `Float[Tensor, "B T C"]`.

jaxtyping provides them, and the test run checks them. `Int` has a sign, `Integer` may be
unsigned too. Where jaxtyping is not installed (Python in a browser), annotations fall
back to the plain array type.
"""

try:
    from jaxtyping import Bool, Float, Int, Integer, Shaped
except ImportError:

    class _PlainArray:
        """`Float[ndarray, "B T"]` is `ndarray`."""

        def __class_getitem__(cls, item):
            return item[0]

    Bool = Float = Int = Integer = Shaped = _PlainArray

__all__ = ["Bool", "Float", "Int", "Integer", "Shaped"]
