"""What turns `book/` into notebooks, outputs and a site: notebook → execute → check, render."""
