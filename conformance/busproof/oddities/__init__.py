"""What is odd about the files of a store: a bus's database, and what lies beside it.

Two kinds of findings. An *oddity* contradicts the seed or itself: no sound bus leaves it so. A *note* is what somebody
who looks into a store at night wants to know, though nothing need be wrong.

Only a copy is opened: the file of a living bus is never opened for writing, nor its locks taken.
"""
