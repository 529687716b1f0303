"""The verifier: every rule refuses one unit that breaks it, in a sentence; what stands here unchanged is accepted."""

from dataclasses import replace

import pytest
from tests.oracles.verify import InvalidIRError, verify

from tilewright.codegen import ir

F32, F64 = ir.element("float32"), ir.element("float64")
V32 = ir.vector(F32)
U, SIZES, X, N = (
    ir.Var("u", ir.pointer(F32)),
    ir.Var("sizes", ir.const_pointer(ir.INDEX)),
    ir.Var("x", F32),
    ir.Var("n"),
)
COME = ir.Var("come", ir.pointer(ir.INDEX))
SHARED = ir.Var("tile", ir.shared_pointer(F32))
I = ir.Var("i")  # noqa: E741  (an index)


def value(at: ir.Expr, base: ir.Var = U) -> ir.Load:
    return ir.Load(base, at, F32)


def function(*body: ir.Stmt, name: str = "f", params: tuple[ir.Var, ...] = (U, SIZES, X, N), **rest) -> ir.Function:
    return ir.Function(name=name, params=params, body=body, **rest)


def kernel(*body: ir.Stmt, **rest) -> ir.Function:
    return function(*body, kind="kernel", threads=64, **rest)


def loop(*body: ir.Stmt, **rest) -> ir.For:
    return ir.For(**{"var": I, "low": ir.Int(0), "high": N, "body": body, **rest})


def store(what: ir.Expr = X, at: ir.Expr = N, base: ir.Expr = U, kind: ir.Type = F32) -> ir.Store:
    return ir.Store(base, at, what, kind)


HELPER = function(name="helper", params=(X,), result=X, result_type=F32, kind="inline")
CALLED = ir.Call("helper", (X,), F32)
GOOD_CPU = (
    HELPER,
    function(
        ir.Comment("a loop over vectors, shared by the threads"),
        ir.ConstArray(ir.Var("table", ir.const_pointer(F32)), (0.5, 0.25)),
        ir.Mutable(ir.Var("last", F32), CALLED),
        ir.Assign(ir.Var("last", F32), value(N) + ir.Load(ir.Var("table", ir.const_pointer(F32)), ir.Int(1), F32)),
        ir.Parallel(
            N,
            (
                ir.Barrier(),
                loop(
                    ir.Let(ir.Var("v", V32), ir.Load(U, I, V32)),
                    ir.Let(ir.Var("w", V32), ir.Real(0.5, F32) * ir.Var("v", V32)),
                    ir.Store(U, I, ir.Var("w", V32), V32),
                    step=ir.Lanes(F32),
                    share="static",
                ),
            ),
        ),
        ir.If((N < 3) & (N >= 1), (ir.Intrinsic("copy", (U, U, N), F32),), (ir.Scope((store(),)),)),
        kind="entry",
    ),
)
GOOD_GPU = (
    HELPER,
    kernel(
        ir.Array(SHARED, 64),
        ir.Array(ir.Var("own", ir.private_pointer(F32)), 2),
        ir.Store(SHARED, ir.THREAD, value(ir.GROUP * 64 + ir.THREAD), F32),
        ir.Barrier(),
        loop(store(ir.Load(SHARED, ir.Int(63) - ir.THREAD, F32), ir.wide(ir.THREAD)), ir.Barrier(memory=True)),
        ir.If(ir.THREAD.equals(0), (store(CALLED),)),
    ),
)


@pytest.mark.parametrize(("unit", "gpu"), [(GOOD_CPU, False), (GOOD_GPU, True)], ids=["cpu", "gpu"])
def test_a_unit_that_keeps_to_the_rules_is_accepted(unit, gpu):
    verify(unit, gpu=gpu)


Y, P = ir.Var("y", F32), ir.Var("p", ir.const_pointer(F32))
CPU_FAULTS = {
    "a name that nothing introduced": (store(Y), "in f, at Store u: y is not known here"),
    "a name after the end of its scope": (
        (ir.Scope((ir.Let(Y, X),)), store(Y)),
        "in f, at Store u: y is not known here",
    ),
    "a loop's name after it": ((loop(), store(at=I)), "in f, at Store u: i is not known here"),
    "a name of two things": ((ir.Let(Y, X), ir.Let(Y, X)), "at Let y: y is the name of something else in this scope"),
    "a parameter's name for something else": (ir.Let(X, X), "at Let x: x is the name of something else in this scope"),
    "a name of another type": (store(ir.Var("x", F64)), "x is read as a float64 and is a float32"),
    "a new value of what has one": (ir.Assign(X, X), "at Assign x: x is not Mutable"),
    "a new value of nothing": (ir.Assign(Y, X), "at Assign y: y is not known here"),
    "a vector named as a number": (ir.Let(Y, ir.Load(U, N, V32)), "a value of type vector of float32 is named y"),
    "numbers of two types": (
        ir.Let(Y, ir.Op(ir.Operator.ADD, (X, ir.Real(1.0, F64)), F32)),
        "at Let y: add of type float32 is applied to float32, float64",
    ),
    "too few operands": (ir.Let(Y, ir.Op(ir.Operator.ADD, (X,), F32)), "add takes 2 operands, not 1"),
    "the remainder of rounded numbers": (ir.Let(Y, ir.Op(ir.Operator.MOD, (X, X), F32)), "mod of type float32"),
    "a condition on vectors for numbers": (
        ir.Let(Y, ir.Op(ir.Operator.WHERE, (ir.Load(U, N, V32) < X, X, X), F32)),
        "where of type float32 is applied to mask of float32, float32, float32",
    ),
    "the product of pointers": (ir.Let(Y, ir.Op(ir.Operator.MUL, (U, U), U.type)), "mul of type pointer to float32"),
    "a load of another element type": (
        ir.Let(ir.Var("y", F64), ir.Load(U, N, F64)),
        "a float64 is taken from, or put to, where a pointer to float32 points",
    ),
    "a load from a number": (ir.Let(Y, ir.Load(X, N, F32)), "a value of type float32 is indexed"),
    "a number as an index": (ir.Let(Y, ir.Load(U, X, F32)), "a value of type float32 is an index"),
    "a store through const": ((ir.Let(P, U), store(base=P)), "a float32 is stored through a const pointer to float32"),
    "a store of another type": (store(ir.Real(1.0, F64)), "a value of type float64 is stored as a float32"),
    "a pointer that loses its const": (
        ir.Let(ir.Var("q", ir.pointer(ir.INDEX)), SIZES),
        "a value of type const pointer to index is named q, of type pointer to index,",
    ),
    "a number as a condition": (ir.If(X, ()), "at If: a value of type float32 is a condition"),
    "a number as a bound": (loop(high=X), "at For i: a value of type float32 is a bound or a step"),
    "a function that is not there": (ir.Call("g", ()), "at Call g: no function g stands before this one"),
    "a call with too few arguments": (ir.Call("helper", (), F32), "helper takes 1 arguments, not 0"),
    "a call with another argument": (ir.Call("helper", (N,), F32), "a value of type index is passed to helper for x"),
    "a call of another type": (ir.Call("helper", (X,)), "helper returns float32, not nothing"),
    "an intrinsic that is not there": (ir.Intrinsic("jump", (), F32), "no dialect has a function jump"),
    "an intrinsic that writes through const": (
        ir.Intrinsic("copy", (SIZES, SIZES, N), F32),
        "a value of type const pointer to index is passed to copy for a pointer to float32",
    ),
    "an array of nothing": (ir.Array(ir.Var("a", ir.pointer(F32)), 0), "at Array a: it holds 0 values"),
    "a table that may be changed": (ir.ConstArray(ir.Var("a", ir.pointer(F32)), (1.0,)), "known numbers are named by"),
    "a loop shared by one thread": (loop(share="static"), "a loop is shared outside a parallel region"),
    "a loop shared in an unknown way": (ir.Parallel(N, (loop(share="guided"),)), "in a way called 'guided'"),
    "a team in a team": (ir.Parallel(N, (ir.Parallel(N, ()),)), "a parallel region stands in another"),
    "a comment that ends early": (ir.Comment("a */ b"), "at Comment: the text ends its own comment"),
    "a barrier of one thread": (ir.Barrier(), "at Barrier: the threads of a region meet inside it"),
    "a barrier that not every thread of a team reaches": (
        ir.Parallel(N, (ir.If(ir.THREAD.equals(0), (ir.Barrier(),)),)),
        "in f, at Barrier: not every thread comes to the barrier",
    ),
    "a number as the condition of a repetition": (ir.While(X, ()), "at While: a value of type float32 is a condition"),
    "a conversion to a pointer": (
        ir.Let(P, ir.Op(ir.Operator.CONVERT, (N,), P.type)),
        "convert of type const pointer to float32 is applied to index",
    ),
    "a pointer that loses its const in another type": (
        ir.Let(ir.Var("q", ir.pointer(F64)), ir.Op(ir.Operator.REINTERPRET, (SIZES,), ir.pointer(F64))),
        "reinterpret of type pointer to float64 is applied to const pointer to index",
    ),
    "the bits of a vector as wider numbers": (
        ir.Let(ir.Var("v", ir.vector(F64)), ir.Op(ir.Operator.REINTERPRET, (ir.Load(U, N, V32),), ir.vector(F64))),
        "reinterpret of type vector of float64 is applied to vector of float32",
    ),
    "a lane of a number": (ir.Let(Y, ir.Op(ir.Operator.LANE, (X, N), F32)), "lane of type float32 is applied to"),
    "an intrinsic of GPUs": (ir.Intrinsic("count", (U,), F32), "CPU units have no function count"),
    "shared memory on a CPU": (ir.Array(SHARED, 4), "at Array tile: CPU units have no shared memory"),
    "a group on a CPU": (store(at=ir.GROUP), "CPU units have no operator group"),
}


def test_a_unit_for_cpus_that_breaks_a_rule_is_refused():
    for fault, message in CPU_FAULTS.values():
        body = fault if isinstance(fault, tuple) else (fault,)
        _refused((HELPER, function(*body)), message, gpu=False)


OWN = ir.If(ir.THREAD.equals(0), (ir.Barrier(),))
WIDE = ir.Var("wide", ir.WIDE)
GPU_FAULTS = {
    "a barrier for one thread": (OWN, "in f, at Barrier: not every thread comes to the barrier"),
    "a barrier in a loop of a thread's own length": (loop(ir.Barrier(), high=ir.THREAD), "not every thread comes"),
    "a barrier under a name of the thread": (
        (ir.Let(I, ir.THREAD + N), ir.If(I < N, (ir.Barrier(),))),
        "not every thread comes",
    ),
    "a barrier under what a thread loaded": (
        ir.If(ir.Load(SIZES, ir.THREAD, ir.INDEX) < N, (ir.Barrier(),)),
        "not every thread comes",
    ),
    "a barrier where a name came to differ late": (
        (
            ir.Mutable(ir.Var("k"), ir.Int(0)),
            loop(ir.If(ir.Var("k") < N, (ir.Barrier(),)), ir.Assign(ir.Var("k"), ir.THREAD)),
        ),
        "not every thread comes",
    ),
    "shared memory in a loop": (loop(ir.Array(SHARED, 4)), "shared memory is declared at the top of a kernel"),
    "an array in global memory": (ir.Array(ir.Var("a", ir.pointer(F32)), 4), "shared memory or a thread's own"),
    "a pointer to another memory": ((ir.Array(SHARED, 4), ir.Let(P, SHARED)), "a value of type shared pointer to"),
    "a vector": (ir.Let(ir.Var("v", V32), ir.Load(U, N, V32)), "GPU units have no vector of float32"),
    "the lanes of a vector": (store(at=ir.Lanes(F32)), "GPU units have no Lanes"),
    "a team of threads": (ir.Parallel(N, ()), "at Parallel: GPU units have no such statement"),
    "an intrinsic of CPUs": (ir.Intrinsic("copy", (U, U, N), F32), "GPU units have no function copy"),
    "a promise to a compiler that makes vectors": (
        loop(independent=True),
        "at For i: iterations are independent on CPUs only",
    ),
    "an operator of CPUs": (store(at=ir.op(ir.Operator.LANE)), "GPU units have no operator lane"),
    "an index that is cut": (
        (ir.Let(WIDE, ir.wide(N)), ir.Let(I, WIDE + 1)),
        "at Let i: a value of type index64 is named i, of type index,",
    ),
}


def test_a_unit_for_gpus_that_breaks_a_rule_is_refused():
    for fault, message in GPU_FAULTS.values():
        body = fault if isinstance(fault, tuple) else (fault,)
        _refused((HELPER, kernel(*body)), message, gpu=True)


def test_a_call_leads_to_a_barrier():
    meeting = function(ir.Barrier(), name="meet")
    calls = ir.If(ir.THREAD.equals(0), (ir.Call("meet", (U, SIZES, X, N)),))
    _refused((meeting, kernel(calls)), "in f, at Call meet: not every thread comes to the barrier", gpu=True)


def test_an_argument_of_a_thread_decides_on_a_barrier():
    meeting = function(ir.If(N < 3, (ir.Barrier(),)), name="meet", params=(N,))
    verify((meeting, kernel(ir.Call("meet", (N,)))), gpu=True)
    _refused((meeting, kernel(ir.Call("meet", (ir.THREAD,)))), "in meet, at Barrier: not every thread comes", gpu=True)


def test_functions_are_named_once_but_for_numbers_of_registers():
    _refused((HELPER, HELPER), "in helper: another function has this name", gpu=False)
    verify((replace(HELPER, registers=16), replace(HELPER, registers=32)), gpu=False)


def test_kernels_are_for_gpus_and_entries_for_cpus():
    _refused((kernel(),), "in f: CPU units have no kernel", gpu=False)
    _refused((function(kind="entry"),), "in f: GPU units have no entry", gpu=True)


def test_what_is_returned_has_the_function_s_type():
    _refused((replace(HELPER, result_type=F64),), "in helper, at the result: a value of type float32", gpu=False)
    _refused((replace(HELPER, result_type=None),), "in helper, at the result: it has no type", gpu=False)


def _refused(unit, message, *, gpu):
    with pytest.raises(InvalidIRError) as error:
        verify(unit, gpu=gpu)
    assert message in str(error.value)
