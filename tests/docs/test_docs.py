"""What the documents say is held against the code: their Python runs, their names exist, nothing is left out."""

import ast
import itertools
import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import click
import pytest

from limpet.cli import SUMMARY, limpet
from limpet.demo.shop import Shop, ShopServer
from limpet.exits import Exit
from limpet.load import load_site
from limpet.settings import NAMES

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/*.md")),
]
PACKAGES = [ROOT / "limpet", *sorted(ROOT.glob("*/limpet_*"))]
PUBLIC = [name for name in SUMMARY if not name.startswith("_")]


def python_in(document):
    """(line, text) of each fenced Python block."""
    text = document.read_text("utf-8")
    return [
        (text[: found.start()].count("\n") + 2, found[1])
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)
    ]


SUBSCRIBER = ROOT / "docs/messages.md"
BLOCKS = [
    (document, line, text)
    for document in DOCUMENTS
    if document != SUBSCRIBER
    for line, text in python_in(document)
]


def sources(*suffixes):
    return [path for package in PACKAGES for path in package.rglob("*") if path.suffix in suffixes]


def slug(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize(
    ("document", "line", "text"), BLOCKS, ids=[f"{document.name}:{line}" for document, line, _ in BLOCKS]
)
def test_a_python_block_is_a_site_that_loads_and_knows_its_seeds(tmp_path, document, line, text):
    path = tmp_path / "site_of_the_docs.py"
    path.write_text(text)
    site = load_site(path)
    entries = list(itertools.islice(site.entries, 10))
    assert entries
    assert all(site.match(entry.url) for entry in entries if entry.kind == "page")


def run(*words):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LIMPET_")}
    done = subprocess.run(
        [sys.executable, "-m", "limpet", *words], env=environ, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_the_site_of_the_readme_has_fifteen_lines_and_crawls_the_shop(tmp_path):
    ((_, text),) = python_in(ROOT / "README.md")
    assert len([line for line in text.splitlines() if line and not line.startswith("#")]) <= 15
    site = tmp_path / "shop.py"
    with ShopServer(Shop(listings=3, products=30), log_path=tmp_path / "log") as shop:
        site.write_text(text.replace("http://127.0.0.1:8000", shop.url))
        run("crawl", str(site), "--workers", "1")
        records = [json.loads(line) for line in run("export", str(site)).splitlines()]
        wanted = {sku: values["price"] for sku, values in shop.expected().items()}
    assert {record["key"]: record["data"]["price"] for record in records} == wanted


def test_the_subscriber_of_the_messages_applies_each_once_however_often_it_is_read(tmp_path):
    ((_, subscriber),) = python_in(SUBSCRIBER)
    assert len(subscriber.splitlines()) <= 20
    (tmp_path / "subscriber.py").write_text(subscriber)
    ((_, site_text),) = python_in(ROOT / "README.md")
    site = tmp_path / "shop.py"

    def read(messages):
        command = [sys.executable, "subscriber.py"]
        done = subprocess.run(
            command, cwd=tmp_path, input=messages, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        with closing(sqlite3.connect(tmp_path / "prices.db")) as db:
            return dict(db.execute("SELECT sku, price FROM prices")), done.stderr

    def on_the_site():
        return {sku: values["price"] for sku, values in shop.expected().items()}

    with ShopServer(Shop(listings=2, products=6), log_path=tmp_path / "log") as shop:
        site.write_text(site_text.replace("http://127.0.0.1:8000", shop.url))
        run("crawl", str(site), "--workers", "1")
        first = run("changes", str(site))
        assert read(first)[0] == on_the_site()
        shop.change_prices([1, 3])
        run("crawl", str(site), "--workers", "1", "--refresh")
        every = run("changes", str(site))
        assert read(every)[0] == read(first)[0] == on_the_site(), "older messages change nothing"

    messages = [json.loads(line) for line in every.splitlines()]
    example = json.loads(re.search(r"```json\n(.*?)```", SUBSCRIBER.read_text("utf-8"), re.S)[1])
    like_it = next(message for message in messages if message["type"] == example["type"])
    assert (set(example), set(example["data"])) == (set(like_it), set(like_it["data"]))
    known = messages[0]
    gone = known | {"id": f"{known['subject']}:9.9", "type": "limpet.record.gone"}
    prices, said = read(json.dumps(gone) + '\n{"id": "gap:9", "type": "limpet.gap", "data": {}}\n')
    assert known["data"]["key"] not in prices
    assert len(prices) == 5
    assert "limpet export" in said


def test_a_link_in_a_document_leads_to_a_file_and_a_heading():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text("utf-8")):
            assert not target.startswith("http"), f"{document.name}: {target} leads out"
            name, _, anchor = target.partition("#")
            path = document if not name else (document.parent / name).resolve()
            assert path.exists(), f"{document.name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.M)
                assert anchor in map(slug, headings), f"{document.name}: {target}"


def test_a_file_that_a_document_names_is_there():
    known = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if ".git" not in path.parts}
    for document in DOCUMENTS:
        for name in re.findall(r"`([\w./-]+\.(?:py|lua|sql))`", document.read_text("utf-8")):
            if name in ("shop.py", "lua/rebuild_*.lua"):
                continue
            found = any(path == name or path.endswith(f"/{name}") for path in known)
            assert found, f"{document.name}: {name}"


def test_a_rule_or_invariant_that_the_code_cites_is_in_the_architecture():
    explained = set(re.findall(r"^\| ([RI]-\d+) \|", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), re.M))
    assert {f"R-{n}" for n in range(1, 11)} | {f"I-{n}" for n in range(1, 22)} == explained
    for path in sources(".py", ".lua", ".sql"):
        for cited in re.findall(r"\b[RI]-\d+\b", path.read_text("utf-8")):
            assert cited in explained, f"{path.name}: {cited}"


def test_a_constraint_that_the_architecture_names_is_in_the_schema():
    schema = (ROOT / "store/limpet_store/schema.sql").read_text("utf-8")
    there = set(re.findall(r"(?:CONSTRAINT|TRIGGER) (\w+)", schema))
    table = re.search(r"## Invariants\n(.*?)\n## ", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), re.S)
    named = set(re.findall(r"`((?:meta|pages|parts|records|outbox)_\w+)`", table[1]))
    assert named
    assert named <= there


def test_a_function_that_the_architecture_names_is_in_the_code():
    there = set()
    for path in sources(".py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                there.add((path.stem, node.name))
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    modules = {module for module, _ in there}
    columns = {"pages.open", "rounds.refreshed_to"}
    for module, name in re.findall(r"`(?:limpet\.)?([a-z]+)\.(?:[A-Z]\w+\.)?([A-Za-z_]\w*)`", text):
        if module in modules and f"{module}.{name}" not in columns and name not in ("py", "lua", "sql"):
            assert (module, name) in there, f"{module}.{name}"


def test_a_test_that_the_architecture_names_is_there():
    proof = re.search(r"## What proves it\n(.*?)\n## ", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), re.S)
    named = set(re.findall(r"`(test_\w+)`", proof[1]))
    there = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        there |= set(re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.M))
    assert len(named) > 20
    assert named - there == set()
    for cited in [f"R-{n}" for n in range(1, 11)] + [f"I-{n}" for n in range(1, 22)]:
        assert re.search(rf"^\| [^|]*\b{cited}\b", proof[1], re.M), cited


def test_every_table_is_in_the_architecture():
    schema = (ROOT / "store/limpet_store/schema.sql").read_text("utf-8")
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for table in re.findall(r"CREATE TABLE (\w+)", schema):
        assert f"| `{table}` |" in text


@pytest.mark.parametrize("name", PUBLIC)
def test_a_command_is_in_the_documents_with_its_options(name):
    text = "".join(document.read_text("utf-8") for document in DOCUMENTS)
    command = limpet.get_command(click.Context(limpet), name)
    assert f"limpet {name}" in text
    places = {"--verbose", "--yes", "--help"}
    if name == "demo":
        places |= {"--workers", "--seed", "--folder"}  # in its own help
    for option in (option for parameter in command.params for option in parameter.opts):
        if option.startswith("--") and option not in places:
            assert option in text, f"{name} {option}"


def test_every_setting_is_in_the_operating_guide():
    text = (ROOT / "docs/operating.md").read_text("utf-8")
    for _, variable in NAMES.values():
        assert f"`{variable}`" in text


def test_the_exit_codes_stand_in_their_order():
    text = (ROOT / "docs/operating.md").read_text("utf-8")
    table = re.search(r"## Exit codes\n(.*?)\n## ", text, re.S)
    said = [int(code) for row in re.findall(r"^\| ([\d, ]+) \|", table[1], re.M) for code in row.split(",")]
    wanted = [int(code) for code in Exit]
    assert said == [130, 143, *wanted[2:]]
