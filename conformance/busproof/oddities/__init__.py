"""The oddities of the files of a store: a bus's database, and the files beside it.

There are two kinds of findings. An *oddity* contradicts the seed or itself: no sound bus leaves it so. A *note* is of
interest to somebody who looks into a store at night, though nothing need be wrong.

Only a copy is opened: the file of a living bus is never opened for writing, nor its locks taken.
"""
