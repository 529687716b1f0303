"""The intermediate representation of kernels: types, nodes, constructors; see :mod:`tilewright.codegen.ir.nodes`."""

from tilewright.codegen.ir.builder import *
from tilewright.codegen.ir.expressions import *
from tilewright.codegen.ir.nodes import *
from tilewright.codegen.ir.operators import *
from tilewright.codegen.ir.rewrite import *
from tilewright.codegen.ir.types import *
