"""The site file that the demo writes."""

import ast

from limpet.demo.site_template import site_file


def test_the_site_file_is_python_that_starts_at_the_seed() -> None:
    text = site_file("http://127.0.0.1:8000/list/0")
    compile(text, "shop.py", "exec")
    assert 'seeds=["http://127.0.0.1:8000/list/0"]' in text
    assert "$" not in text


def test_its_lease_is_that_of_the_published_kill_test_or_the_engines_own() -> None:
    assert "site.tune(lease=3)\n" in site_file("http://127.0.0.1/")
    assert "tune" not in site_file("http://127.0.0.1/", lease=None)


def test_only_what_users_import_is_imported() -> None:
    tree = ast.parse(site_file("http://127.0.0.1/"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [(node.module, [name.name for name in node.names]) for node in imports] == [
        ("limpet", ["Page", "Record", "Site"])
    ]
