"""Figures of what the closed form does beyond outliers and labels."""
