"""Random parts of real tables, on which every fit has to keep its promises."""
