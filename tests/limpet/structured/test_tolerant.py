"""The reader that mends agrees with the one that does not, and never fails in another way than it says."""

import json

from hypothesis import given
from hypothesis import strategies as st

from limpet import clean
from limpet.structured.tolerant import Broken, Budget, values

TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)
PIECES = st.lists(
    st.sampled_from(
        [
            *"{}[]:,;'\"`\\/*-+.01eExnu$ \n<!",
            "//",
            "/*",
            "*/",
            "<!--",
            "-->",
            "]]>",
            "null",
            "a",
            "\\u",
            "d83c",
            "NaN",
        ]
    )
)


@given(JSON, st.booleans())
def test_good_json_is_read_as_json_also_by_the_reader_that_mends(value, as_ascii):
    text = json.dumps(value, ensure_ascii=as_ascii)
    assert values(f"[{text}]", Budget()) == [[value]]
    assert values(f"[{text},]", Budget()) == [[value]]


@given(PIECES.map("".join) | st.text())
def test_whatever_stands_there_is_read_as_what_can_be_stored_or_called_broken(text):
    try:
        found = values(text, Budget())
    except Broken:
        return
    assert clean.tidy(found, "found") == found
