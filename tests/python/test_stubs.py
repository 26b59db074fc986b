"""The type stubs say what the module is."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import licet
import pytest
from licet import _licet

STUB = ast.parse((Path(licet.__file__).parent / "_licet.pyi").read_text())


def stub_classes():
    return {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def stub_functions(body):
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def is_property(node):
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def shape_of_stub(node, bound):
    """(name, kind, default) of each parameter."""
    arguments = node.args
    positional = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    shape = [
        (a.arg, "positional-only" if a in arguments.posonlyargs else "positional or keyword", literal(d))
        for a, d in zip(positional, defaults)
    ]
    if bound:
        shape = shape[1:]
    if arguments.vararg:
        shape.append((arguments.vararg.arg, "variadic positional", ()))
    shape += [(a.arg, "keyword-only", literal(d)) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return shape


def literal(node):
    return inspect.Parameter.empty if node is None else ast.literal_eval(node)


def shape_of(function):
    return [
        (p.name, p.kind.description, () if p.kind is p.VAR_POSITIONAL else p.default)
        for p in inspect.signature(function).parameters.values()
    ]


def test_the_stub_names_what_the_module_has():
    names = set(stub_classes()) | set(stub_functions(STUB.body)) | {"__version__"}
    module = {name for name in vars(_licet) if not name.startswith("__")} | {"__version__"}
    assert names == module


@pytest.mark.parametrize("name", stub_functions(STUB.body))
def test_functions_have_the_parameters_of_the_stub(name):
    assert shape_of(getattr(_licet, name)) == shape_of_stub(stub_functions(STUB.body)[name], bound=False)


TYPES = [
    "Engine",
    "Result",
    "Schema",
    "RelationshipStream",
    "ResourceStream",
    "ResourceIdStream",
    "SubjectStream",
    "SubjectIdStream",
    "ImpactStream",
    "ChangeStream",
    "Tree",
]


@pytest.mark.parametrize("name", TYPES)
def test_types_have_the_members_of_the_stub(name):
    cls = getattr(_licet, name)
    members = stub_functions(stub_classes()[name].body)
    public = {member for member in vars(cls) if not member.startswith("_")}
    assert {member for member in members if not member.startswith("_")} == public
    for member, node in members.items():
        if is_property(node):
            assert inspect.isgetsetdescriptor(vars(cls)[member]), member
        elif not member.startswith("__"):
            unbound = 0 if is_classmethod(node) else 1
            assert shape_of(getattr(cls, member))[unbound:] == shape_of_stub(node, bound=True), member


def is_classmethod(node):
    return any(isinstance(d, ast.Name) and d.id == "classmethod" for d in node.decorator_list)


def test_errors_have_the_bases_of_the_stub():
    for name, node in stub_classes().items():
        if name in {*TYPES, "Clock"}:
            continue
        assert [base.__name__ for base in getattr(_licet, name).__bases__] == [base.id for base in node.bases]


def test_the_package_exports_what_it_lists():
    assert sorted(licet.__all__) == sorted(set(licet.__all__))
    for name in licet.__all__:
        assert hasattr(licet, name)
    public = {n for n, v in vars(licet).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert public - {"annotations"} == set(licet.__all__) - {"__version__"}
    assert (Path(licet.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "command", [["mypy.stubtest", "licet", "--ignore-disjoint-bases"], ["mypy", "--strict", "-p", "licet"]]
)
def test_mypy_agrees(command, tmp_path):
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_typed_programs_are_checked(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import licet\n"
        "with licet.open() as engine:\n"
        '    answer: bool = engine.allowed("a:b", "view", "user:c")\n'
        '    token: str = engine.touch("a:b#c@d:e", licet.Relationship("a", "b", "c", "d", "e"))\n'
        '    engine.write([licet.create("a:b#c@d:e")], [licet.must_match(resource_type="a")])\n'
        '    for relationship in engine.read_relationships(resource_type="a"):\n'
        "        text: str = relationship.resource\n"
        '    for found in engine.lookup_resources("a", "view", "user:c"):\n'
        "        word: str = found.permissionship.name + found.resource_id\n"
        '    ids: list[str] = [found.subject_id for found in engine.lookup_subjects("a:b", "view", "c")]\n'
        '    ids = [*engine.lookup_resource_ids("a", "view", "user:c"), *engine.lookup_subject_ids("a:b", "view", "c")]\n'
        '    node: licet.TreeNode = engine.expand("a:b", "view").children[0]\n'
        '    trace: licet.Trace = engine.explain("a:b", "view", "user:c")\n'
        '    answers: dict[str, licet.Result] = engine.permissions("a:b", "user:c")\n'
        "    with engine.watch(timeout=1.5) as changes:\n"
        "        for change in changes:\n"
        "            text = change.operation if change.relationship is None else change.relationship.resource\n"
        '    count: int = engine.import_relationships(["a:b#c@d:e"], progress=print).count\n'
        '    count = engine.import_relationships(["a:b#c@d:e"], resume="n", batch_size=5).count\n'
        '    count = engine.import_status("n").count if engine.forget_import("n") else 0\n'
        '    engine.allowed(b"a:b", "view", "user:c")\n'
        "    engine.touch(5)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)], capture_output=True, text=True, cwd=tmp_path
    )
    lines = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]
    assert lines == ["21", "22"], done.stdout
