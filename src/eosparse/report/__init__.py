"""Render a summary as text, JSON or HTML; nothing is computed here."""
