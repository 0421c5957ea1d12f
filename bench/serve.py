"""Serve the shop of the benchmark and write its site file: `python bench/serve.py FOLDER [--listings N]`.

For looking at one crawl by hand, under a profiler for instance; `bench/cpu.py` needs nobody to run this.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
from pathlib import Path

from limpet.demo.shop import Shop, ShopServer
from limpet.demo.site_template import site_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--listings", type=int, default=500, help="pages of 20 products each")
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    shop = Shop(args.listings, args.listings * 20)
    with ShopServer(shop, log_path=args.folder / "site.log", port=args.port) as server:
        site = args.folder / "shop.py"
        site.write_text(site_file(server.first_page, lease=None))
        print(f"{server.first_page}  {shop.pages} pages; limpet crawl {site}; Ctrl-C ends it", flush=True)
        signal.pause()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
