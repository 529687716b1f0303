"""Laws of rewriting: what finds nothing returns what it was given."""

from tests.oracles.names import free_names

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


def changed(body, **changes):
    return ir.map_function(ir.Function(name="f", params=(), body=body), **changes).body


def test_what_changes_nothing_returns_the_same_object():
    assert changed(BODY, expr=lambda node: node, stmt=lambda node: (node,)) is BODY
    assert ir.map_function(FUNCTION, expr=lambda node: node) is FUNCTION
    assert changed(BODY, expr=lambda node: ir.Var(node.name) if node == X else node) == BODY


def test_parts_that_stay_are_the_same_objects():
    after = changed(BODY, stmt=lambda node: () if isinstance(node, ir.Comment) else (node,))
    assert len(after) == len(BODY) - 1
    assert all(one is other for one, other in zip(after, BODY[1:], strict=True))


def test_operands_are_changed_before_what_holds_them():
    seen = []
    changed((ir.Let(ir.Var("z"), SHARED_PART),), expr=lambda node: seen.append(node) or node)
    assert seen == [X, Y, ir.Int(2), Y * 2, SHARED_PART]


def test_an_expression_in_several_places_is_changed_once():
    seen = []
    ir.map_function(FUNCTION, expr=lambda node: seen.append(node) or node)
    assert sum(node is SHARED_PART for node in seen) == 1


def test_statements_may_become_several_or_none():
    def twice(node):
        return (node, node) if isinstance(node, ir.Store) else ()

    (loop,) = (node for node in ir.walk(BODY) if isinstance(node, ir.For))
    assert changed(loop.body, stmt=twice) == loop.body * 2
    assert changed((loop,), stmt=twice) == ()


def test_walking_meets_everything_in_order():
    kinds = [type(node).__name__ for node in ir.walk(FUNCTION) if not isinstance(node, ir.Var | ir.Int | ir.Op)]
    assert kinds == ["Comment", "Let", "Parallel", "For", "Store", "Load", "If", "Scope", "Call", "Intrinsic"]
    assert list(ir.walk(SHARED_PART)) == [SHARED_PART, X, Y * 2, Y, ir.Int(2)]


def test_free_names_are_those_that_nothing_introduces():
    assert free_names(BODY) == {"u", "x", "y", "n"}
    assert free_names(FUNCTION) == set()
    assert free_names((ir.Let(X, ir.Int(0)), ir.Let(Y, X))) == set()
    assert free_names((ir.Let(X, X),)) == {"x"}
    assert free_names((ir.Scope((ir.Let(X, ir.Int(0)),)), ir.Let(Y, X))) == {"x"}
    assert free_names((ir.Assign(X, ir.Int(0)),)) == {"x"}
