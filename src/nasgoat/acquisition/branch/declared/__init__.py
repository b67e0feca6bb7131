"""Declared graphs, whose nodes and edges may both carry labels, under the linear kernel.

In reading order: ``records``, ``structures``, ``domains``, ``bound``, ``search``, ``tables``.
"""
