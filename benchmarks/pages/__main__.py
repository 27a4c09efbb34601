"""Write tables and measured sentences into the pages: ``python -m benchmarks.pages``."""

from __future__ import annotations

from benchmarks.pages.write import write_pages

if __name__ == "__main__":
    write_pages()
