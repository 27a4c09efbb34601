"""Figures of wrong cells and gaps."""
