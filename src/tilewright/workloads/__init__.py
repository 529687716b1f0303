"""The workloads, one file each: what :class:`tilewright.workload.Workload` asks for."""
