"""Cells under the exponential and the normalised kernel.

``model`` has the kernel as arrays and bounds of structures. ``enumeration`` looks at labellings one
by one, ``split_labellings`` at all that two halves of the edges make up.
"""
