"""Cells under the linear kernel: shapes, tables, bounds and the search for their labels.

In reading order: ``records``; ``structures`` and ``classes`` (what is listed); ``tables`` (columns
of features); ``reference``, ``products``, ``norm_bounds`` and ``potentials`` (the bound of a search
node); ``domains`` (limits); ``structure_bounds`` (many structures at once); ``search``;
``stem_tables`` and ``growing_prefixes`` (dense spaces); ``composition_bounds`` (for the
mixed-integer program).
"""
