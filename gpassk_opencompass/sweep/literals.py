"""Python source that is data: literals, in which `dict(…)` counts as one."""

from __future__ import annotations

import ast
from typing import Any

NO_LITERAL = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)
"""What `ast.parse` and `literal` raise for what is no Python, nested too deep, or no literal."""


def literal(node: ast.expr | ast.Expression) -> Any:
    """Return the value of a literal, in which `dict(a=1)` and `dict({'a': 1})` may stand for `{'a': 1}`.

    Raises:
        NO_LITERAL: as for `ast.literal_eval`.

    >>> literal(ast.parse("[dict(type='rule'), 1]", mode='eval'))
    [{'type': 'rule'}, 1]
    """
    return ast.literal_eval(_Dicts().visit(node))


class _Dicts(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id != 'dict':
            return node
        if len(node.args) == 1 and isinstance(node.args[0], ast.Dict) and not node.keywords:
            return node.args[0]
        if node.args or any(keyword.arg is None for keyword in node.keywords):
            return node
        keys: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in node.keywords]
        return ast.Dict(keys, [keyword.value for keyword in node.keywords])
