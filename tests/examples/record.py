"""Save the pages of the examples anew: `PYTHONPATH=tests python tests/examples/record.py [EXAMPLE...]`.

It is what a user does with `limpet try --save`, on port 8000, the one that the site files name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from examples.served import Served

ROOT = Path(__file__).parents[2]
SECRETS = {"CATALOGUE_TOKEN": "let-me-in", "CLUB_PASSWORD": "open-sesame"}
# What follows `limpet try SITE`; paths are completed.
TRIES: dict[str, list[list[str]]] = {
    "classic_shop": [
        ["--follow"],
        ["/category/books?page=2"],
        ["/product/5", "--data", '["Kettles"]'],
    ],
    "json_api": [["--follow"]],
    "jsonld_shop": [["/"], *([f"/jersey/{n}"] for n in (0, 1, 2, 3, 4, 9, 13))],
    "login": [["--follow"]],
    "docs_sitemap": [["--follow"], ["/docs/guide/7.html"]],
}


def record(name: str) -> None:
    folder = ROOT / "examples" / name
    pages = folder / "tests" / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place, Served(name, Path(place) / "log", port=8000) as site:
        for words in TRIES[name]:
            urls = [site.url + word if word.startswith("/") else word for word in words]
            command = [
                sys.executable,
                "-m",
                "limpet",
                "try",
                str(folder / "site.py"),
                *urls,
                "--save",
                str(pages),
            ]
            subprocess.run(command, env=os.environ | SECRETS, stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    for each in sys.argv[1:] or TRIES:
        record(each)
