"""`python -m tinygpt.data`: fetch Shakespeare, once."""

import sys

from tinygpt.data import DataError, data_dir, shakespeare

if __name__ == "__main__":
    try:
        print(f"Shakespeare: {len(shakespeare()):,} characters in {data_dir()}")
    except DataError as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        print("Interrupted; nothing was changed.", file=sys.stderr)
        sys.exit(130)
