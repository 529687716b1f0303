"""What a tile looks like: hexagons in space and time, drawn by the code that runs them."""

import sys
from pathlib import Path

from tilewright.verbs import explain

explain.draw(explain.family("hybrid:t=8,s=6x16"), Path(sys.argv[1]))
