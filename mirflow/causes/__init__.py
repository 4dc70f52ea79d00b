"""Causes of low scores: simple transformations of one side that would make a pair right.

:mod:`mirflow.causes.transformations` declares them. :mod:`mirflow.causes.diagnosis` tries them on cells with low
scores, by the kernel of the metric, and says which side is probably wrong; :mod:`mirflow.causes.low_cells` notes such
cells while blocks are scored. Nothing is changed, and no score moves.
"""
