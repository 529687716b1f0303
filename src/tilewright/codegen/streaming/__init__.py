"""Streaming tiles on CPUs: bands of steps, a pipeline of levels along axis 0, dimension-lifted rows.

The family's hand-made body behind its schedule tree: a tile overlaps its neighbours in all axes but the first, which is
streamed (AN5D's N.5D blocking); the levels of a band follow each other a few rows apart (a software pipeline).
"""
