"""Comparisons with the paper and with peers, from drawing the data to the page."""
