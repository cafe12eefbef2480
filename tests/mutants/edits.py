"""The careless edits that a file allows.

Left out: docstrings and other texts, annotations, decorators, what an error says (its raise can be
dropped), what is printed, how a figure looks, and code for type checkers or the command line alone.
"""

import ast
import copy
from dataclasses import dataclass
from itertools import pairwise

KINDS = {
    "sign": [(ast.Add, ast.Sub)],
    "operator": [(ast.Pow, ast.Mult), (ast.FloorDiv, ast.Mult), (ast.Mult, ast.Div)],
    "bound": [(ast.Lt, ast.LtE), (ast.Gt, ast.GtE)],
    "condition": [
        *((ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
        *((ast.And, ast.Or), (ast.BitAnd, ast.BitOr)),
    ],
}
OTHER = {
    old: (kind, new)
    for kind, pairs in KINDS.items()
    for pair in pairs
    for old, new in (pair, pair[::-1])
}
EXTREMES = "min max,minimum maximum,argmin argmax,amin amax,idxmin idxmax,any all,floor ceil"
EXTREME = {
    old: new for pair in map(str.split, EXTREMES.split(",")) for old, new in (pair, pair[::-1])
}
UNORDERED = {"min", "max", "minimum", "maximum", "isinstance", "getattr", "swapaxes"}
AXES = {"0": "-1", "1": "0", "-1": "0", "-2": "-1"}
SILENT = {"print", "warn", "advance"}
LOOKS = {"mark", "order", "zorder", "figsize", "fontsize", "linewidth", "markersize"}
LOOSE = ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp | ast.IfExp | ast.Lambda


@dataclass(frozen=True)
class Edit:
    """The bytes `start` to `end` of a file become `new`."""

    file: str
    line: int
    function: str
    kind: str
    start: int
    end: int
    new: str

    def applied(self, source: bytes) -> bytes:
        """The file's bytes with the edit."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    def shown(self, source: bytes) -> str:
        """Its place, and the lines before and after."""
        first, last = source.rfind(b"\n", 0, self.start) + 1, source.find(b"\n", self.end)
        after = self.applied(source)[first : last + len(self.new.encode()) - self.end + self.start]
        was, now = (" ".join(text.decode().split()) for text in (source[first:last], after))
        return f"{self.file}:{self.line} {self.function}, {self.kind}:\n    {was}\n -> {now}"


def sites(file: str, source: bytes) -> list[list[Edit]]:
    """The places of a file that can be edited, from top to bottom, each with its edits."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    module = file.removeprefix("src/").removesuffix(".py").replace("/", ".")
    answer = []
    for function, kind, old, news in _visit(ast.parse(source), module):
        start = starts[old.lineno - 1] + old.col_offset
        end = starts[old.end_lineno - 1] + old.end_col_offset
        texts = [f"({ast.unparse(n)})" if isinstance(n, LOOSE) else ast.unparse(n) for n in news]
        answer.append([Edit(file, old.lineno, function, kind, start, end, t) for t in texts])
    return answer


def _visit(node, function):
    """Each edit of a tree: function, kind, the node, and what can stand in its place."""
    if _skipped(node):
        return
    for kind, old, *news in _edits(node):
        yield function, kind, old, news
    if isinstance(node, ast.keyword) and node.arg in ("axis", "dim"):
        return  # -1 and 1 are often one axis
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}"
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "exc"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _visit(child, function)


def _skipped(node):
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.FunctionDef(name="__repr__"):
            return True
        case ast.keyword(arg=name):
            return name in LOOKS
        case ast.Expr(value=ast.Call(func=f)):
            return _name(f) in SILENT
        case ast.If(test=test):
            return any(name in ast.unparse(test) for name in ("TYPE_CHECKING", "__name__"))
    return False


def _edits(node):
    match node:
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert() as op, operand=x):
            yield "sign" if isinstance(op, ast.USub) else "condition", node, x
        case ast.BinOp(op=op, left=a, right=b) if type(op) in OTHER:
            if not (_text(a) or _text(b) or isinstance(op, ast.BitOr)):
                yield OTHER[type(op)][0], node, _with(node, op=OTHER[type(op)][1]())
        case ast.BoolOp(op=op):
            yield "condition", node, _with(node, op=OTHER[type(op)][1]())
        case ast.AugAssign(op=op, value=value):
            yield "dropped", node, ast.Pass()
            if type(op) in OTHER and not _text(value):
                yield OTHER[type(op)][0], node, _with(node, op=OTHER[type(op)][1]())
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                kind, new = OTHER[type(op)]
                yield kind, node, _with(node, ops=[*ops[:i], new(), *ops[i + 1 :]])
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare | ast.UnaryOp):  # these have edits of their own
                yield "condition", test, ast.UnaryOp(ast.Not(), test)
        case ast.Call(func=f, args=args):
            if (name := _name(f)) in EXTREME:
                field = "id" if isinstance(f, ast.Name) else "attr"
                yield "extreme", node, _with(node, func=_with(f, **{field: EXTREME[name]}))
            for i, (a, b) in enumerate(pairwise(args) if name not in UNORDERED else ()):
                if not (_text(a) or _text(b)) and ast.dump(a) != ast.dump(b):
                    yield "swapped", node, _with(node, args=[*args[:i], b, a, *args[i + 2 :]])
        case ast.keyword(arg="axis" | "dim", value=x):
            if (name := ast.unparse(x)) in AXES:
                yield "axis", x, ast.parse(AXES[name], mode="eval").body
        case ast.Constant(value=bool(x)):
            yield "constant", node, ast.Constant(not x)
        case ast.Constant(value=int(x) | float(x)):
            values = {type(x)(0), type(x)(1), 2 * x} | ({x + 1} if isinstance(x, int) else set())
            yield "constant", node, *map(ast.Constant, sorted(values - {x}))
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Delete() | ast.Break() | ast.Continue():
            yield "dropped", node, ast.Pass()
        case ast.Assign(targets=[target], value=value):  # not where it gives a name its first value
            names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
            if not isinstance(target, ast.Name | ast.Tuple) or ast.unparse(target) in names:
                yield "dropped", node, ast.Pass()


def _with(node, **fields):
    new = copy.copy(node)
    for field, value in fields.items():
        setattr(new, field, value)
    return new


def _name(function):
    return ast.unparse(function).rpartition(".")[2]


def _text(node):
    """Whether a node is a text or a sequence, which has no arithmetic and is no other argument."""
    texts = ast.JoinedStr | ast.List | ast.Tuple | ast.Starred
    return isinstance(node, texts) or isinstance(getattr(node, "value", None), str)
