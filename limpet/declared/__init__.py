"""Sites that are declared: a TOML file that says the same as a small Python one. docs/declarative.md has the format.

    file       the file, its tables `site` and `tune`, and a Site made of them
    pages      a `page`, as what its handler gives
    records    its records
    follows    its links
    blocks     what these two have in common
    fields     one value: where it stands and of which type it is
    places     where values stand: selectors, JSON, structured data, what is known of the page
    convert    JSON and text into the types
    templates  URLs with values in them
    tables     tables of the file, and the mistakes in them

Everything is looked at and compiled when the file is loaded: all mistakes are told at once, and a handler only reads.
"""

from limpet.declared.file import site_of

__all__ = ["site_of"]
