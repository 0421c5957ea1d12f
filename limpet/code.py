"""A hash of what a handler does, to notice that pages were read by other code than today's.

It covers the source of the handler and of everything at the top of its own file that it refers to, and so on:
functions, classes, constants, imports. Comments, layout, quotes, docstrings, `@site.page` lines and handlers
named in `to=` do not count. It is taken from the source as it was loaded, so it is the same after every
restart; another Python version may give another hash. Not covered: the insides of imported modules, and names
that are reached only by strings.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import linecache
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limpet.shapes import Shape

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_hash(function: Callable[..., Any], shapes: Iterable[Shape] = ()) -> str:
    """16 hex digits that change when the function's code, or what it refers to in its own file, changes.

    So they do with those of the shapes whose record type or class the function names.
    """
    code: CodeType = inspect.unwrap(function).__code__
    found = _code_hash(code)
    named = [shape.facts for shape in shapes if {shape.type_, shape.cls.__name__} & _words(code)]
    return _digest("\0".join([found, *sorted(named)])) if named else found


GIVES_LINKS = frozenset({"Link", "feed", "follow", "graphql", "link", "links", "request"})


def leads(function: Callable[..., Any]) -> bool:
    """Whether a handler may give links: it, or a function of its file that it uses, names what makes one."""
    function = inspect.unwrap(function)
    seen: set[CodeType] = set()
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        if code in seen:
            continue
        seen.add(code)
        if GIVES_LINKS & set(code.co_names):
            return True
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]
        used = (function.__globals__.get(name) for name in code.co_names)
        waiting += [each.__code__ for each in used if inspect.isfunction(each) and _together(each, function)]
    return False


def _together(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    code: CodeType = inspect.unwrap(one).__code__
    return code.co_filename == other.__code__.co_filename


def _words(code: CodeType) -> set[str]:
    """The names and texts in a function and in those inside it."""
    found = set(code.co_names) | {const for const in code.co_consts if isinstance(const, str)}
    return found.union(*(_words(const) for const in code.co_consts if isinstance(const, CodeType)))


def _code_hash(code: CodeType) -> str:
    source = _Source.of("".join(linecache.getlines(code.co_filename)))
    node = source.functions.get((code.co_name, code.co_firstlineno))
    if node is None:
        return _digest(_bytecode(code))
    # Sorted, so that moving a helper about in the file changes nothing.
    return _digest("\0".join([ast.unparse(node), *sorted(map(ast.unparse, source.reached(node)))]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf_8", "backslashreplace")).hexdigest()[:16]


class _Source:
    """A file's functions by name and first line, and what each name at its top is given its meaning by."""

    def __init__(self, tree: ast.Module) -> None:
        found = [node for node in ast.walk(tree) if isinstance(node, _Function)]
        self.functions = {(node.name, _first_line(node)): node for node in found}
        _Bare().visit(tree)
        self.defined: dict[str, list[ast.stmt]] = {}
        for statement in tree.body:
            for name in _binds(statement):
                self.defined.setdefault(name, []).append(statement)

    @staticmethod
    @functools.lru_cache(maxsize=8)
    def of(text: str) -> _Source:
        try:
            return _Source(ast.parse(text))
        except SyntaxError:
            return _Source(ast.parse(""))

    def reached(self, start: ast.AST) -> list[ast.stmt]:
        """The statements at the top of the file that `start` refers to, directly or through each other."""
        found: list[ast.stmt] = []
        names = list(_names(start))
        seen: set[str] = set()
        while names:
            name = names.pop()
            for statement in () if name in seen else self.defined.get(name, ()):
                if statement is not start and statement not in found:
                    found.append(statement)
                    names += _names(statement)
            seen.add(name)
        return found


def _first_line(node: _Named) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _binds(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top of the file defines or changes; an `if` counts as a whole."""
    if isinstance(statement, _Named):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    names = {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for inner in ast.walk(statement):
        if isinstance(inner, ast.stmt) and inner is not statement:
            names |= _binds(inner)
    return names | _changed(statement)


def _changed(statement: ast.stmt) -> set[str]:
    """TABLE["x"] = 1 and TABLE.update(...) change what TABLE means."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        targets = [statement.value.func]
    elif isinstance(statement, ast.Assign):
        targets = statement.targets
    else:
        return set()
    return {root.id for root in map(_root, targets) if isinstance(root, ast.Name)}


def _root(target: ast.expr) -> ast.expr:
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    return target


def _names(node: ast.AST) -> Iterator[str]:
    """The names that `node` reads, but for a handler that it only links to."""
    if isinstance(node, ast.keyword) and node.arg == "to":
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


class _Bare(ast.NodeTransformer):
    """Takes routes and docstrings out."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, _Named):
            node.decorator_list = [each for each in node.decorator_list if not _is_route(each)]
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        return node


def _is_route(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "page"


def _bytecode(code: CodeType) -> str:
    """Without source: what it refers to is left out, and the hash is bound to the Python version."""
    inner = [_bytecode(const) if isinstance(const, CodeType) else repr(const) for const in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {inner}"
