"""What a tiled program costs on a machine: bytes, seconds. Functions of program, tiling and machine."""
