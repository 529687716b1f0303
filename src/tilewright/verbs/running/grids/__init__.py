"""What runs a program on arrays of one kind: in memory, on a device, in batches, on disk, on ranks, in Dask."""
