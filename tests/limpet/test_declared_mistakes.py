"""Mistakes in a declared site: all at once, each in a line that names its place."""

import pytest

from limpet import SiteError
from limpet.load import load_site

GOOD = """[site]
name = "shop"
seeds = ["http://h.example/"]

[tune]
lease = 10

[[page]]
name = "listing"
pattern = "/list/{n}"

[[page.follow]]
css = "a"
to = "product"

[[page]]
name = "product"
pattern = ["/product/{n}", "/item/{n:int}"]

[page.record]
type = "product"
key = "sku"

[page.record.fields]
sku = ".sku"
price = { css = ".price", type = "price" }
"""


@pytest.fixture
def refused(tmp_path):
    """The mistakes of a file, without its path."""

    def refused(text):
        path = tmp_path / "shop.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(SiteError) as caught:
            load_site(path)
        lines = str(caught.value).split(";\n")
        assert all(line.startswith(str(path)) and "\n" not in line for line in lines)
        return [line.removeprefix(str(path)) for line in lines]

    return refused


def test_the_good_one_is_good(tmp_path):
    (tmp_path / "shop.toml").write_text(GOOD)
    assert load_site(tmp_path / "shop.toml").name == "shop"


IN_FIELD = "page 'product', field 'price': "
IN_RECORD = "page 'product', record: "
IN_FOLLOW = "page 'listing', follow: "
PRICE = 'price = { css = ".price", type = "price" }'
FOLLOW = 'css = "a"\nto = "product"'


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        # the file
        ("[tune]", "[tunes]", "unknown key 'tunes'; did you mean 'tune'?"),
        ('[site]\nname = "shop"\nseeds = ["http://h.example/"]\n', "", "no [site] in it; add [site] with a name and s"),
        ('name = "shop"\n', "", "site: name is missing"),
        ('seeds = ["http://h.example/"]\n', "", "site: neither seeds nor hosts: there is nothing in scope"),
        ("[tune]", "[site.session]\n[tune]", "site: session is made by a function: that takes a site file in Python"),
        ('name = "shop"', 'nome = "x"\nname = "shop"', "site: unknown key 'nome'; did you mean 'name'?"),
        ('name = "shop"', 'name = "A Shop"', "site: name 'A Shop': small letters"),
        ("http://h.example/", "h.example", "site: seed 'h.example': not an absolute"),
        ("lease = 10", "lase = 10", "tune: no knob 'lase'; did you mean 'lease'?"),
        ("lease = 10", 'lease = "10"', "tune: lease='10': a number"),
        ("[tune]", "[site.headers]\nA = { secret = 'a b' }\n[tune]", "site: secret('a b'): the name of an environment"),
        ("[tune]", "[site.headers]\nA = { secret = 'T', befor = 'x' }\n[tune]", "site: a secret has no 'befor'; did y"),
        ("[tune]", "[site.headers]\nA = { secret = 5 }\n[tune]", "site: a secret's secret is 5; a text is needed"),
        # pages
        ('name = "product"', "", "page 2: name is missing"),
        ('name = "product"', 'name = "the product"', "page 'the product': name: letters, digits"),
        ('name = "product"', 'name = "listing"', "page 'listing': a second page of this name"),
        ('pattern = "/list/{n}"', "", "page 'listing': pattern is missing"),
        ('pattern = "/list/{n}"', 'patern = "/list"', "page 'listing': unknown key 'patern'; did you mean 'pattern'?"),
        ('"/list/{n}"', '"list/{n}"', "page 'listing': pattern 'list/{n}': must begin with /"),
        ('"/list/{n}"', "[]", "page 'listing': pattern is empty"),
        ('"/list/{n}"', "7", "page 'listing': pattern is 7; a text or a list of texts is needed"),
        ('pattern = "/list/{n}"', 'pattern = "/list/{n}"\nhtml = "yes"', "page 'listing': html is 'yes'; true or fals"),
        ('pattern = "/list/{n}"', 'pattern = "/list/{n}"\nrefresh = "soon"', "page 'listing': refresh 'soon': seco"),
        (f"[[page.follow]]\n{FOLLOW}\n", "", "page 'listing': neither record nor follow: it does nothing"),
        # what is followed
        ('to = "product"', 'to = "produkt"', IN_FOLLOW + "to 'produkt' is no page; did you mean 'product'?"),
        ('css = "a"', 'css = "a["', IN_FOLLOW + "css 'a[' is no CSS selector: "),
        ('css = "a"', "", IN_FOLLOW + "no place: where does it stand? One of css, json, path"),
        ('css = "a"', 'css = "a"\njson = "b"', IN_FOLLOW + "css and json: where does it stand?"),
        ('css = "a"', 'css = "a"\nurl = "/x/{n}"', IN_FOLLOW + "url and css: one of them says where it leads"),
        ('css = "a"', 'css = "a"\neach = "b::text"', IN_FOLLOW[:-2] + ", each: css 'b::text' selects text; elements"),
        ('css = "a"', 'css = "a"\neach = { data = "a[" }', IN_FOLLOW[:-2] + ", each: data 'a[' is no JMESPath"),
        ('css = "a"', 'css = "a"\npriority = "high"', IN_FOLLOW + "priority is 'high'; a whole number is needed"),
        ('css = "a"', 'css = "a"\nmerge = "list"', IN_FOLLOW + "merge without data: there is nothing to collect"),
        ('css = "a"', 'css = "a"\nmerge = "all"\ndata = { a = "b" }', IN_FOLLOW + "merge is 'all'; \"list\" collects"),
        ('css = "a"', 'css = "a"\ndata = { a = "b[" }', "page 'listing', follow, data 'a': css 'b[' is no CSS selecto"),
        ('css = "a"', 'css = "a"\nwhen = "b["', "page 'listing', follow, when: css 'b[' is no CSS selector"),
        ('css = "a"', 'url = "/x"', IN_FOLLOW + "url '/x': no {name} in it"),
        ('css = "a"', 'url = "/x/{m}"', IN_FOLLOW + "url '/x/{m}': 'm' is neither in data nor in the pattern; there i"),
        ('css = "a"', 'url = "/x/{n+1}"', IN_FOLLOW + "url '/x/{n+1}': n is not known to be a number; {n:int} in"),
        ('css = "a"', 'url = "/x/{n*2}"', IN_FOLLOW + "url '/x/{n*2}': {n*2} is not name, name+1 or name-1"),
        ('css = "a"', 'url = "/x/{n"', IN_FOLLOW + "url '/x/{n': unbalanced braces"),
        # records
        ('type = "product"\n', "", IN_RECORD + "type is missing"),
        ('type = "product"\n', "type = 5\n", IN_RECORD + "type is 5; a text is needed"),
        ('type = "product"\n', 'type = ""\n', IN_RECORD + "type is empty"),
        ('key = "sku"\n', "", IN_RECORD + "key is missing: the field that identifies a record, or a place"),
        ('key = "sku"\n', "key = []\n", IN_RECORD + "key is missing"),
        ('key = "sku"\n', "key = 5\n", IN_RECORD + "key 5: the name of a field or a place"),
        ('key = "sku"\n', 'key = "skv"\n', IN_RECORD + "key 'skv' is no field; did you mean 'sku'?; a place is wri"),
        ('key = "sku"\n', 'key = "price"\n', IN_RECORD + "key 'price' is of the type price, which identifies nothing"),
        ('sku = ".sku"', 'sku = { css = ".sku", optional = true }', IN_RECORD + "key 'sku' must be there; it has no d"),
        ('key = "sku"\n', 'key = { css = "b", all = true }\n', IN_RECORD + "key is a list, which identifies nothing"),
        ('key = "sku"\n', 'key = { css = "b[" }\n', "page 'product', record, key: css 'b[' is no CSS selector"),
        ('key = "sku"\n', 'key = "sku"\nvolatile = ["prise"]\n', IN_RECORD + "volatile 'prise' is no field; did you m"),
        ('key = "sku"\n', 'key = "sku"\nschema = 0\n', IN_RECORD + "schema is 0; it counts from 1"),
        ('key = "sku"\n', 'key = "sku"\nkeys = 1\n', IN_RECORD + "unknown key 'keys'; did you mean 'key'?"),
        ("[page.record.fields]", "[page.record.field]", IN_RECORD + "unknown key 'field'; did you mean 'fields'?"),
        # fields
        ('type = "price" }', 'type = "prize" }', IN_FIELD + "unknown type 'prize'; did you mean 'price'?"),
        ('type = "price" }', "type = [] }", IN_FIELD + "unknown type '[]'; there is bool, date, int"),
        (PRICE, "price = 5", IN_FIELD + "a table is needed, not 5"),
        (PRICE, 'price = { type = "price" }', IN_FIELD + "no place: where does it stand? One of css, json"),
        (PRICE, 'price = { css = ".a", json = "b" }', IN_FIELD + "css and json: where does it stand?"),
        (PRICE, 'price = { css = ".a", defualt = 0 }', IN_FIELD + "unknown key 'defualt'; did you mean 'default'?"),
        (PRICE, 'price = { css = ".a::foo(" }', IN_FIELD + "css '.a::foo(' is no CSS selector: "),
        (PRICE, 'price = { css = ".a::foo" }', IN_FIELD + "css '.a::foo' is no CSS selector: "),
        (PRICE, 'price = { css = "" }', IN_FIELD + "css is empty"),
        (PRICE, 'price = { css = 5 }', IN_FIELD + "css is 5; a text is needed"),
        (PRICE, 'price = { path = "a" }', IN_FIELD + "path goes with jsonld, microdata or embedded, or below an `each"),
        (PRICE, 'price = { json = "$.a" }', IN_FIELD + "json '$.a' is no JMESPath: column 1"),
        (PRICE, 'price = { json = "a-b" }', IN_FIELD + "json 'a-b' is no JMESPath: column 2; names with other signs a"),
        (PRICE, 'price = { json = "a.b[" }', IN_FIELD + "json 'a.b[' is no JMESPath"),
        (PRICE, 'price = { json = "length(a)" }', IN_FIELD + "json 'length(a)' calls a function; a path only leads"),
        (PRICE, 'price = { json = "a[::0]" }', IN_FIELD + "json 'a[::0]': steps of 0"),
        (PRICE, 'price = { jsonld = 5 }', IN_FIELD + "jsonld is 5; a text or a list of texts is needed"),
        (PRICE, 'price = { jsonld = [] }', IN_FIELD + "jsonld is empty"),
        (PRICE, 'price = { param = "m" }', IN_FIELD + "param 'm' is not there; there is n"),
        (PRICE, 'price = { page = "uri" }', IN_FIELD + "page 'uri' is not there; did you mean 'url'?"),
        (PRICE, 'price = { value = nan }', IN_FIELD + "value: nan is not JSON"),
        (PRICE, 'price = { css = ".a", currency = "EUR" }', IN_FIELD + "currency goes with the type price, not text"),
        (PRICE, 'price = { css = ".a", type = "price", currency = "EURO" }', IN_FIELD + "currency='EURO': not an ISO"),
        (PRICE, 'price = { css = ".a", type = "price", decimal = ";" }', IN_FIELD + 'decimal=\';\': "." or ","'),
        (PRICE, 'price = { css = ".a", type = "date", order = "dmy" }', IN_FIELD + "order='dmy': DMY, MDY or YMD"),
        (PRICE, 'price = { css = ".a", type = "date", format = "%d" }', IN_FIELD + "format='%d': a year must be in it"),
        (PRICE, 'price = { css = ".a", type = "date", timezone = "X" }', IN_FIELD + "timezone='X': neither"),
        (PRICE, 'price = { css = ".a", type = "date", languages = 5 }', IN_FIELD + "languages is 5; a text or a list"),
        (PRICE, 'price = { css = ".a", match = "(" }', IN_FIELD + "match '(' is no regular expression: "),
        (PRICE, 'price = { css = ".a", match = "a", all = true }', IN_FIELD + "match reads one text; leave it or `all"),
        (PRICE, 'price = { css = ".a", type = "int", all = true }', IN_FIELD + "all goes with the type text or url, n"),
        (PRICE, 'price = { css = ".a", all = 1 }', IN_FIELD + "all is 1; true or false is needed"),
        (PRICE, 'price = { css = ".a", optional = 1 }', IN_FIELD + "optional is 1; true or false is needed"),
        (PRICE, 'price = { css = ".a", optional = true, default = "" }', IN_FIELD + "optional means that the default"),
        (PRICE, 'price = { css = ".a", type = "int", default = "0" }', IN_FIELD + "default '0' is not of the type int"),
        (PRICE, 'price = { css = ".a", type = "int", default = true }', IN_FIELD + "default True is not of the type i"),
        (PRICE, 'price = { css = ".a", default = 10:00:00 }', IN_FIELD + "default: time is not JSON"),
        (PRICE, 'price = { css = ".a", all = true, default = "a" }', IN_FIELD + "default 'a' is not of the type text"),
        (PRICE, 'price = { css = ".a", type = "bool", default = true }', IN_FIELD + "whether an element is there is a"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_names_its_place(refused, old, new, mistake):
    assert old in GOOD
    lines = refused(GOOD.replace(old, new, 1))
    (line,) = [line for line in lines if line.startswith(f": {mistake}")] or [lines]
    assert isinstance(line, str), f"{mistake!r} is not in {lines}"


def test_all_mistakes_are_told_at_once_and_nothing_else_is(refused):
    text = GOOD.replace("lease", "lase").replace('to = "product"', 'to = "produkt"')
    text = text.replace('type = "price"', 'type = "prize"').replace('name = "shop"', 'name = "A Shop"')
    lines = refused(text.replace('css = ".price"', 'css = ".price["'))
    assert [line.split(":")[1] for line in lines] == [
        " site", " tune", " page 'listing', follow", " page 'product', field 'price'",
    ]  # fmt: skip


def test_one_of_several_is_named_by_its_number(refused):
    more = '[[page.record]]\ntype = "a"\nkey = "b"\nfields = { b = "i" }\n'
    text = GOOD.replace("[page.record]", f"{more}[[page.record]]").replace('type = "price"', 'type = "prize"')
    (line,) = refused(text)
    assert line.startswith(": page 'product', record 2, field 'price': unknown type 'prize'")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[site]\nname = "a\n', ":2: not TOML: "),
        ("[site]\nname = a\n", ":2: not TOML: Invalid value"),
        ("[site]\n[site]\n", ":2: not TOML: Cannot declare"),
        (b"[site]\nname = '\xff'\n", ": not TOML: not UTF-8"),
        ("a = " + "[" * 5000, ": not TOML: "),
        ("", ": no [site] in it; add [site] with a name and seeds"),
        ("page = 5\nsite = 5", ": site: a table is needed, not 5"),
    ],
)
def test_a_file_that_is_no_toml_or_no_site_is_refused(refused, text, words):
    assert any(line.startswith(words) for line in refused(text))
