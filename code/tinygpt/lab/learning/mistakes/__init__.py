"""Wrong answers that people really write, with what the checks say about them."""
