"""Cells under the exponential and the normalised kernel.

``model`` has the kernel as arrays and bounds of structures. ``enumeration`` looks at labellings one
by one; ``minorants`` and ``minorant_search`` hand labels on nodes over to the linear search. Where
edges carry the labels, these are searched in two halves: ``kernel_rows`` has linear bounds and
those of a half whatever the other one is, ``split_structure`` searches one structure,
``split_labellings`` all of them. ``several_objectives`` takes several objectives together.
"""
