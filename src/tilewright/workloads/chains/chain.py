"""``tw.chain``: matrix chains planned for least data movement, and multiplied.

``tw.chain.plan`` needs neither data nor a compiler. ``tw.chain.multi_dot`` multiplies arrays; whether a fused kernel
or the array library's products are faster is decided by times that ``tw.chain.calibrate`` measured, or by estimates.
"""

from tilewright.workloads.chains.plan import OBJECTIVES, ChainPlan, plan
from tilewright.workloads.chains.run import ChainTrial, calibrate, choose, multi_dot, trial
from tilewright.workloads.chains.times import HostTimes

__all__ = ["OBJECTIVES", "ChainPlan", "ChainTrial", "HostTimes", "calibrate", "choose", "multi_dot", "plan", "trial"]
