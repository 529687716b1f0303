"""Laws of rewriting: what finds nothing returns what it was given, and names keep their scopes."""

import pytest

from tilewright.codegen import ir

F32 = ir.element("float32")
U, X, Y, N, I = ir.Var("u", ir.pointer(F32)), ir.Var("x"), ir.Var("y"), ir.Var("n"), ir.Var("i")  # noqa: E741
SHARED_PART = X + Y * 2
BODY = (
    ir.Comment("every kind of statement that holds others"),
    ir.Let(ir.Var("z"), SHARED_PART + SHARED_PART),
    ir.Parallel(N, (ir.For(var=I, low=X, high=N, body=(ir.Store(U, I, ir.Load(U, SHARED_PART, F32), F32),)),)),
    ir.If(X < Y, (ir.Scope((ir.Call("f", (X, Y)),)),), (ir.Intrinsic("fence", (), F32),)),
)
FUNCTION = ir.Function(name="f", params=(U, X, Y, N), body=BODY, result=SHARED_PART, result_type=ir.INDEX)


def test_what_changes_nothing_returns_the_same_object():
    assert ir.map_expr(SHARED_PART, lambda node: node) is SHARED_PART
    assert ir.map_stmt(BODY, expr=lambda node: node, stmt=lambda node: (node,)) is BODY
    assert ir.map_function(FUNCTION, expr=lambda node: node) is FUNCTION
    assert ir.substitute(BODY, {"unknown": ir.Int(1)}) is BODY
    assert ir.map_stmt(BODY, expr=lambda node: ir.Var(node.name) if node == X else node) == BODY


def test_parts_that_stay_are_the_same_objects():
    after = ir.map_stmt(BODY, stmt=lambda node: () if isinstance(node, ir.Comment) else (node,))
    assert len(after) == len(BODY) - 1
    assert all(one is other for one, other in zip(after, BODY[1:], strict=True))


def test_operands_are_changed_before_what_holds_them():
    seen = []
    ir.map_expr(SHARED_PART, lambda node: seen.append(node) or node)
    assert seen == [X, Y, ir.Int(2), Y * 2, SHARED_PART]


def test_an_expression_in_several_places_is_changed_once():
    seen = []
    ir.map_function(FUNCTION, expr=lambda node: seen.append(node) or node)
    assert sum(node is SHARED_PART for node in seen) == 1


def test_statements_may_become_several_or_none():
    def twice(node):
        return (node, node) if isinstance(node, ir.Store) else ()

    (loop,) = (node for node in ir.walk(BODY) if isinstance(node, ir.For))
    assert ir.map_stmt(loop.body, stmt=twice) == loop.body * 2
    assert ir.map_stmt((loop,), stmt=twice) == ()


def test_walking_meets_everything_in_order():
    kinds = [type(node).__name__ for node in ir.walk(FUNCTION) if not isinstance(node, ir.Var | ir.Int | ir.Op)]
    assert kinds == ["Comment", "Let", "Parallel", "For", "Store", "Load", "If", "Scope", "Call", "Intrinsic"]
    assert list(ir.walk(SHARED_PART)) == [SHARED_PART, X, Y * 2, Y, ir.Int(2)]


def test_free_names_are_those_that_nothing_introduces():
    assert ir.free_names(BODY) == {"u", "x", "y", "n"}
    assert ir.free_names(FUNCTION) == set()
    assert ir.free_names((ir.Let(X, ir.Int(0)), ir.Let(Y, X))) == set()
    assert ir.free_names((ir.Let(X, X),)) == {"x"}
    assert ir.free_names((ir.Scope((ir.Let(X, ir.Int(0)),)), ir.Let(Y, X))) == {"x"}
    assert ir.free_names((ir.Assign(X, ir.Int(0)),)) == {"x"}


def test_substitution_ends_where_a_name_is_another_one():
    before = (ir.Let(Y, X), ir.Let(X, ir.Int(0)), ir.Let(N, X))
    assert ir.substitute(before, {"x": ir.Int(7)}) == (ir.Let(Y, ir.Int(7)), *before[1:])
    inner = (ir.Scope((ir.Let(X, ir.Int(0)),)), ir.Let(Y, X))
    assert ir.substitute(inner, {"x": ir.Int(7)}) == (inner[0], ir.Let(Y, ir.Int(7)))
    loop = ir.For(var=I, low=I, high=N, body=(ir.Let(Y, I),))
    assert ir.substitute((loop,), {"i": ir.Int(7)}) == (ir.For(var=I, low=ir.Int(7), high=N, body=(ir.Let(Y, I),)),)


def test_a_value_is_not_captured():
    with pytest.raises(ValueError, match="x stands where its value's y means something else"):
        ir.substitute((ir.Let(Y, ir.Int(0)), ir.Let(N, X)), {"x": Y})
    with pytest.raises(ValueError, match="x stands where its value's i means something else"):
        ir.substitute((ir.For(var=I, low=ir.Int(0), high=N, body=(ir.Let(N, X),)),), {"x": I})
    harmless = (ir.Let(N, X), ir.Let(Y, ir.Int(0)))
    assert ir.substitute(harmless, {"x": Y}) == (ir.Let(N, Y), ir.Let(Y, ir.Int(0)))


def test_what_is_assigned_to_is_no_expression():
    with pytest.raises(ValueError, match="x is assigned to"):
        ir.substitute((ir.Assign(X, ir.Int(0)),), {"x": Y})
