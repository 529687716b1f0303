"""GPUs: drivers, run-time compilers, arrays in their memory, and an emulator."""
