"""What a source says, read from its syntax tree: what it imports, what it asks of objects, which numbers it holds."""

import ast
import re

# A name that is made while the program runs: it could be any.
ANYTHING = "unrelu.*"


# --- imports ----------------------------------------------------------------------------------------------------------


def imported(source, own="unrelu.somewhere", known=()):
    """Modules of this package that a source reaches, whichever way, in full; names in them are left out."""
    tree = ast.parse(source)
    yield from _by_statement(tree, own, known)
    yield from _through_the_package(tree, known)
    yield from _by_string(tree)


def _by_statement(tree, own, known):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "unrelu")
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(own.split(".")[: -node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            if module.split(".")[0] == "unrelu":
                for alias in node.names:
                    inside = f"{module}.{alias.name}"
                    yield inside if inside in known or module == "unrelu" else module


def _through_the_package(tree, known):
    """``unrelu.complete`` after ``import unrelu``, by whatever name; the package as a value could become anything."""
    names = {
        alias.asname or "unrelu"
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "unrelu" or (alias.name.startswith("unrelu.") and alias.asname is None)
    }
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if id(node) in inner or not isinstance(node, ast.Name | ast.Attribute):
            continue  # part of a longer chain
        first, *rest = dotted(node)
        if first in names:
            yield _longest([f"unrelu.{'.'.join(rest[:k])}" for k in range(1, len(rest) + 1)], known)


def _longest(chain, known):
    return next((name for name in reversed(chain) if name in known), chain[0] if chain else ANYTHING)


def _by_string(tree):
    """Names in full, as ``import_module`` and ``sys.modules`` take them; one that is made from parts could be any.

    ``files`` of ``importlib.resources`` takes them as well, for files that lie there.
    """
    calls = {node: dotted(node.func)[-1] for node in ast.walk(tree) if isinstance(node, ast.Call)}
    places = {node.args[0] for node, name in calls.items() if name == "files" and node.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in places and re.fullmatch(r"unrelu(\.\w+)+", str(node.value)):
            yield node.value
        elif calls.get(node) in ("import_module", "__import__"):
            name = node.args[0] if node.args else None
            if not isinstance(name, ast.Constant) or name.value.startswith("."):
                yield ANYTHING


def dotted(node):
    """``a.b.c`` in parts; what is no such chain begins with nothing."""
    if isinstance(node, ast.Attribute):
        return [*dotted(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]


# --- functions --------------------------------------------------------------------------------------------------------


def functions(node, name):
    """Every function below a node, those inside classes and other functions too, with its name in full."""
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        own = f"{name}.{child.name}" if named else f"{name}.<lambda>" if isinstance(child, ast.Lambda) else name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield own, child
        yield from functions(child, own)


def lines_of(function):
    """From ``def`` to the end, without the docstring."""
    count = function.end_lineno - function.lineno + 1
    if not isinstance(function, ast.Lambda) and ast.get_docstring(function) is not None:
        count -= function.body[0].end_lineno - function.body[0].lineno + 1
    return count


def parameters_of(function):
    """Positional and keyword-only ones together."""
    positional = [*function.args.posonlyargs, *function.args.args]
    own = bool(positional) and positional[0].arg in ("self", "cls")
    return len(positional) - own + len(function.args.kwonlyargs)


# --- what an object is asked ------------------------------------------------------------------------------------------


def kinds_asked(source, kinds):
    """Where a source asks whether something is of one of these classes, or what a loss or a kernel is called.

    To tell a name is no question; to compare it, to look something up under it, or to take it apart is one.
    """
    tree = ast.parse(source)
    renamed = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in ast.walk(tree):
        asked = [(part, dotted(part)) for part in _asked(node)]
        if any(renamed.get(name[-1], name[-1]) in kinds or _a_name(name) for _, name in asked):
            yield ast.unparse(node.cls if isinstance(node, ast.MatchClass) else node).splitlines()[0]


def _a_name(name):
    return len(name) > 1 and name[-1] == "name" and name[-2].lstrip("_") in ("loss", "kernel")


def _asked(node):
    """What a question is about: the parts of an expression whose answer depends on what they are."""
    if isinstance(node, ast.Call):
        called = dotted(node.func)
        if called[-1] in ("isinstance", "issubclass") and len(node.args) == 2:
            yield from _each(node.args[1])
        elif called[-1] == "get" and node.args:
            yield node.args[0]
        elif isinstance(node.func, ast.Attribute):
            yield node.func.value if _a_name(called[:-1]) else ast.Constant(None)
    elif isinstance(node, ast.Compare):
        for part in (node.left, *node.comparators):
            yield from _each(part)
    elif isinstance(node, ast.Match):
        yield node.subject
    elif isinstance(node, ast.MatchClass):
        yield node.cls
    elif isinstance(node, ast.Subscript):
        yield node.slice


def _each(node):
    """The members of ``(A, B)``, ``{A, B}`` and ``A | B``, or the one there is."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        for member in node.elts:
            yield from _each(member)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _each(node.left)
        yield from _each(node.right)
    else:
        yield node


# --- numbers ----------------------------------------------------------------------------------------------------------


def small_numbers(source, below):
    """Float literals of a size above zero and below this."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < abs(node.value) < below:
            yield node.value
