"""One summary of what was found, shown in several ways: text, JSON, HTML."""
