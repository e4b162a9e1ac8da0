"""Wrong answers that people really write, one module for each exercise."""
