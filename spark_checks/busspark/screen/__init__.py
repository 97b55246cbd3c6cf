"""The screen: one pass of Spark over the compact streams of all runs, which finds where anything can be wrong.

`rows` says what each fact asks or tells, as rows of longs; `window` sets them side by side: one shuffle by key, one
sort, one window. The result is small: a row for each slice of a log or of a reader's time, whose edges `edges` stitches
in order, and a row for each key that is suspect. No rule is said twice: the check itself looks at a suspect, in Python
(`judge`). So a screen may suspect too much, never too little; tests hold hundreds of damaged runs against it.
"""
