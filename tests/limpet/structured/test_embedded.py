"""Data of a page's own scripts."""

import pytest

from limpet import MissingValue, Page
from limpet_store.items import Fetched


def page(html):
    return Page(Fetched("http://h.example/dir/p.html", 200, {"content-type": "text/html"}, html.encode()))


def script(text, more=""):
    return f"<script {more}>{text}</script>"


ODDITIES = {
    "a script of JSON with an id": (
        script('{"props": {"a": 1}}', 'id="__NEXT_DATA__" type="application/json"'),
        "__NEXT_DATA__",
        {"props": {"a": 1}},
    ),
    "an id with a dash, and escapes that keep </script> out": (
        script(r'{"a": "<\/script>\u003C"}', "id=app-state type=application/json"),
        "app-state",
        {"a": "</script><"},
    ),
    "a script of JSON that was escaped as HTML": (
        script("{&quot;a&quot;:1}", "id=app-state type=application/json"),
        "app-state",
        {"a": 1},
    ),
    "a variable of the window": (script('window.__STATE__ = {"a": [1]};'), "window.__STATE__", {"a": [1]}),
    "asked for without the window": (script('window.__STATE__={"a":1}'), "__STATE__", {"a": 1}),
    "a variable in brackets": (script("""window['__STATE__'] = {"a":1};"""), "window.__STATE__", {"a": 1}),
    "asked for with the window, declared with var": (script("var STATE = [1]\nrun()"), "window.STATE", [1]),
    "a property of an object": (script("shop.page.product = {a: 1};"), "shop.page.product", {"a": 1}),
    "a variable that may be there already": (script("window.S = window.S || {a: 1};"), "S", {"a": 1}),
    "JavaScript inside: single quotes, bare keys, !0, void 0, hexadecimal": (
        script(
            r"""var x = {a: 'it\'s', 'b': !0, c: void 0, $d: 0xff, e: .5, f: undefined, 1: `t`, /* c */ };"""
        ),
        "x",
        {"a": "it's", "b": True, "c": None, "$d": 255, "e": 0.5, "f": None, "1": "t"},
    ),
    "JSON.parse of a string with escapes of JavaScript": (
        script(r"""window.S = JSON.parse("{\"a\":\"\x41\\u0042 \\\"c\\\"\"}");"""),
        "S",
        {"a": 'AB "c"'},
    ),
    "JSON.parse in single quotes": (script(r"""S = JSON.parse('{"a":"it\'s"}')"""), "S", {"a": "it's"}),
    "JSON.parse of an encoded string": (
        script('S = JSON.parse(decodeURIComponent("%7B%22a%22%3A%22%C3%A9%22%7D"));'),
        "S",
        {"a": "é"},
    ),
    "a first value of null": (script("var S = null; S = {a: 1};"), "S", {"a": 1}),
    "an assignment comes before a key of the same name": (
        script("x = {S: {a: 0}}; S = {a: 1}"),
        "S",
        {"a": 1},
    ),
    "a key inside what cannot be read": (
        script('init({"run": function () {}, "product": {"a": 1}, "at": new Date()})'),
        "product",
        {"a": 1},
    ),
    "what a function is called with": (script('dataLayer.push({"a": 1});'), "dataLayer.push", {"a": 1}),
    "a longer name that ends alike": (
        script("myS = {a: 0}; $S = {a: 0}; S = {a: 1}; S2 = {a: 0}"),
        "S",
        {"a": 1},
    ),
    "a comparison and an arrow": (script("if (S == 1 || S === 2) {}; S => {}; S = {a: 1}"), "S", {"a": 1}),
    "an assignment that was commented out": (script("  // S = {a: 0};\nS = {a: 1};"), "S", {"a": 1}),
    "a link before it is no comment": (script("x = 'http://h.example'; S = {a: 1};"), "S", {"a": 1}),
    "brackets and quotes in strings": (
        script("""S = {"a": "}]';</b>", b: '"{'};"""),
        "S",
        {"a": "}]';</b>", "b": '"{'},
    ),
    "a string": (script("var price = '12.00';"), "price", "12.00"),
    "a number": (script("var price = 12.5, y = 1"), "price", 12.5),
    "an attribute": ("""<div id=app data-page='{"a":1}'></div>""", "#app::attr(data-page)", {"a": 1}),
    "a script without an id": (
        script('{"a":  "b  c"}', "type=application/json data-product-json"),
        "script[data-product-json]",
        {"a": "b  c"},
    ),
}

NO_LITERALS = {
    "a function": "var S = function () { return {a: 1} };",
    "a call": "var S = load();",
    "a sum": "var S = 1 + 2;",
    "a part of an object": "var S = {a: 1}.a;",
    "a choice": "var S = [1] ? 2 : 3;",
    "a date inside": "var S = {a: 1, at: new Date()};",
    "a template with a value in it": "var S = {a: `x${y}`};",
    "a string put together": "var S = {a: 'x' + y};",
    "JSON.parse of a variable": "var S = JSON.parse(text);",
    "JSON.parse of an expression": """var S = JSON.parse("{}".trim());""",
    "a text that was cut": "var S = {a: [1, 2",
}


@pytest.mark.parametrize(("html", "name", "expected"), ODDITIES.values(), ids=ODDITIES)
def test_data_is_read_from(html, name, expected):
    assert page(html).embedded(name) == expected


@pytest.mark.parametrize("text", NO_LITERALS.values(), ids=NO_LITERALS)
def test_never_guessed_is_the_value_of(text):
    for default in ((), (None,)):
        with pytest.raises(MissingValue, match="'S' cannot be read: "):
            page(script(text)).embedded("S", *default)


def test_what_is_not_there_is_a_missing_value_or_the_default():
    for name in ("__NEXT_DATA__", "window.x", "#app::attr(data-page)", "app-state"):
        assert page(script("var S = 1")).embedded(name, {}) == {}
        with pytest.raises(MissingValue, match="nothing at"):
            page(script("var S = 1")).embedded(name)


def test_a_function_that_has_the_name_is_not_its_value():
    assert page(script("function S(a, b) { return a }")).embedded("S", None) is None


def test_a_script_with_the_id_that_is_empty_or_broken_is_no_default():
    for text, why in (("", "0 values"), ("{a", "the text ends too early"), ("{}{}", "2 values")):
        with pytest.raises(MissingValue, match=why):
            page(script(text, "id=S")).embedded("S", None)
