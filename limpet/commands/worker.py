"""`limpet _worker`: one RQ worker process, started by a supervisor and by nobody else."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from limpet import job, logs, lost
from limpet.cli import flags_of, place_options, robots_option, site_argument
from limpet.engine import Engine
from limpet_consumers.entry import run_worker
from limpet_consumers.outage import Reporter, patiently
from limpet_consumers.process import die_with_parent
from limpet_consumers.slices import Place
from limpet_store.errors import FrontierError
from limpet_store.frontier import Frontier
from limpet_store.presence import Presence
from limpet_store.server import Server
from limpet_store.valkey import ensure_server


@click.command(name="_worker", hidden=True)
@site_argument
@click.option("--store-id", required=True)
@click.option("--last-fence", type=int)
@click.option("--name", required=True)
@click.option("--parent", type=int, required=True)
@click.option("--metrics", is_flag=True)
@robots_option
@place_options
def command(
    site_file: Path,
    store_id: str,
    last_fence: int | None,
    name: str,
    parent: int,
    metrics: bool,
    **options: Any,
) -> int:
    """Work on the crawl's tickets until told to stop, or until the parent is gone."""
    die_with_parent(parent)
    engine = Engine(site_file, flags_of(options))
    logs.about(worker=name)
    chosen, site = engine.settings, engine.site
    # A worker takes no share in the embedded server: it is its supervisor's to stop.
    url = chosen.redis_url or ensure_server(chosen.home).url

    def bury(token: str) -> None:
        lost.tell_from(chosen.store_path, site.name, f"{token}-")
        server = Server(url)
        try:
            Frontier(server, site.name, store_id).reap(f"{token}-")
        except FrontierError:
            pass  # the leases lapse
        finally:
            server.close()

    def prepare() -> None:
        site.codes()  # hashed once, for all slices
        job.workplace = job.Workplace(
            site,
            Place(crawl=site.name, store=chosen.store_path, server_url=url, last_fence=last_fence),
            chosen.home,
            metrics,
        )

    with ExitStack() as left:
        patiently(lambda: left.enter_context(Presence(chosen.home, "worker", name)), Reporter(name, "place"))
        return run_worker(
            url, site.name, store_id, name, parent=parent, on_horse_death=bury, prepare=prepare,
            tell=Reporter(name, "tickets"),
        )  # fmt: skip
