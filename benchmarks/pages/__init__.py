"""The tables and measured sentences of the pages, made from the CSV files of the results.

`write` fills the blocks of the pages, `numbers` finds numbers outside of them; the other files
have one small function per block: `detector`, `speed`, `models`, `labels`, `tables`,
`real_tables`, `readme`.
"""
