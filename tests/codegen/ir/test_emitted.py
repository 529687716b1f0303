"""What emitters make is verified before it is printed, whichever test asks for it: golden texts, laws, catalogues."""

import pytest
from tests.oracles.verify import InvalidIRError

from tilewright.codegen import ir
from tilewright.codegen.gpu import emit as gpu_emit
from tilewright.codegen.gpu import micro as gpu_micro
from tilewright.codegen.print import c

WRONG = ir.Function(name="f", params=(), body=(ir.Let(ir.Var("x"), ir.Var("y")),))


def test_a_wrong_unit_for_cpus_is_found_before_it_is_printed():
    with pytest.raises(InvalidIRError, match="y is not known here"):
        c.print_unit([WRONG])


@pytest.mark.parametrize("module", [gpu_emit, gpu_micro])
def test_a_wrong_unit_for_gpus_is_found_before_it_is_printed(module):
    with pytest.raises(InvalidIRError, match="y is not known here"):
        module.print_gpu([WRONG], "cuda")
