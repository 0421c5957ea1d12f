"""docker-compose.yml and the Dockerfile without an engine: what they say, and what their commands do as processes."""

from __future__ import annotations

import json
import re
import signal
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from compose.composed import PASSWORD, ROOT, Refused, Stand, composed
from front_helpers import eventually, limpet
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.retry import Retry

from limpet.stopping import LAST_RESORT

FILE = composed({"LIMPET_REDIS_PASSWORD": PASSWORD})
SERVICES = FILE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_there_are_the_services_that_the_guide_speaks_of() -> None:
    assert sorted(SERVICES) == ["consumers", "producer", "shop", "valkey"]
    assert OURS == ["producer", "consumers", "shop"]


def test_a_missing_password_is_refused_in_words() -> None:
    with pytest.raises(Refused, match=r"put a password for Valkey into \.env"):
        composed({})


def test_the_password_is_on_no_command_line() -> None:
    for service in SERVICES.values():
        assert PASSWORD not in json.dumps([service["command"], service.get("healthcheck")])


def test_nothing_is_published_but_metrics_and_those_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert list(published) == ["consumers"]
    (port,) = published["consumers"]
    bound = re.fullmatch(r"127\.0\.0\.1:(\d+)-(\d+):9400", port)
    assert bound, port
    assert int(bound[2]) - int(bound[1]) >= 15  # one for each that --scale makes


def test_valkey_is_alone_with_those_who_need_it_in_a_network_without_a_way_out() -> None:
    assert FILE["networks"]["inside"]["internal"] is True
    assert SERVICES["valkey"]["networks"] == ["inside"]
    assert "inside" not in SERVICES["shop"]["networks"]


def test_what_is_published_and_what_fetches_has_a_way_out() -> None:
    assert "default" in SERVICES["consumers"]["networks"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_started_again_and_may_do_little(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == ("on-failure" if name == "producer" else "unless-stopped")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}


def test_all_that_stay_have_a_health_check() -> None:
    assert {name for name in SERVICES if "healthcheck" not in SERVICES[name]} == {"producer"}


@pytest.mark.parametrize("name", OURS)
def test_the_grace_of_a_stop_is_longer_than_a_stop_takes(name: str) -> None:
    grace = SERVICES[name]["stop_grace_period"]
    assert int(grace.removesuffix("s")) > LAST_RESORT + 1
    assert SERVICES[name]["init"] is True


def test_nobody_is_root() -> None:
    assert SERVICES["valkey"]["user"] == "valkey"
    last = DOCKERFILE.split("\nFROM ")[-1]
    uid = re.search(r"^USER (\d+)", last, re.M)
    assert uid
    assert int(uid[1]) > 0
    assert f"--uid {uid[1]} " in last
    assert not any("user" in SERVICES[name] for name in OURS)


def test_state_outlives_containers_in_volumes_that_all_share() -> None:
    assert FILE["volumes"].keys() == {"state", "valkey"}
    assert "valkey:/data" in SERVICES["valkey"]["volumes"]
    for name in ("producer", "consumers"):
        assert "state:/var/lib/limpet" in SERVICES[name]["volumes"]
        assert SERVICES[name]["environment"]["LIMPET_HOME"] == "/var/lib/limpet"


def test_the_base_image_is_an_argument_and_the_compose_file_hands_it_on() -> None:
    base = re.search(r"^ARG BASE=(\S+)$", DOCKERFILE.split("FROM", 1)[0], re.M)
    assert base
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.M)) == {"${BASE}"}
    assert SERVICES["consumers"]["build"]["args"]["BASE"] == base[1]


def test_all_that_the_wheel_is_built_from_is_sent_to_the_engine_and_nothing_hidden() -> None:
    kept = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    wanted = {name.split("/")[0] for name in packages}
    wanted |= {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    wanted |= set(re.findall(r"requirements\S*\.lock", DOCKERFILE))
    assert {line[1:] for line in kept} == wanted


# -- as processes


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    made = Stand(tmp_path)
    yield made
    made.end()


def valkey(stand: Stand) -> Redis:
    """Valkey, once it answers."""
    client = connected(stand, PASSWORD)
    eventually(lambda: answers(client))
    return client


def connected(stand: Stand, password: str | None = None) -> Redis:
    return Redis(port=stand.ports["valkey"], password=password, retry=Retry(NoBackoff(), 0))


def answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


def test_valkey_wants_its_password_evicts_nothing_and_writes_down_what_it_is_told(stand: Stand) -> None:
    process = stand.start("valkey")
    with valkey(stand) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}
    with pytest.raises(AuthenticationError), connected(stand) as stranger:
        stranger.ping()
    assert PASSWORD not in Path(f"/proc/{process.pid}/cmdline").read_text()
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def test_a_password_that_would_break_a_url_is_refused(stand: Stand) -> None:
    assert stand.start("valkey", password="a/b").wait(10) == 1
    assert stand.said("valkey") == "LIMPET_REDIS_PASSWORD: letters and digits only\n"


def test_the_services_crawl_the_shop_though_valkey_is_killed(stand: Stand) -> None:
    server = stand.start("valkey")
    valkey(stand).close()
    stand.start("shop")
    eventually(lambda: stand.is_healthy("shop"))
    assert stand.start("producer").wait(20) == 0
    assert "1 new" in stand.said("producer")

    consumers = stand.start("consumers")
    eventually(lambda: records(stand) > 20)
    server.kill()
    server.wait()
    assert not stand.is_healthy("consumers")
    stand.start("valkey")
    eventually(lambda: records(stand) == 500)
    eventually(lambda: stand.is_healthy("consumers"))
    with urlopen(f"http://127.0.0.1:{stand.ports['consumers']}/metrics") as metrics:
        assert b'limpet_pages_total{crawl="example-shop"' in metrics.read()

    consumers.send_signal(signal.SIGTERM)
    assert consumers.wait(20) == 143
    assert PASSWORD not in stand.said("consumers") + stand.said("valkey")


def records(stand: Stand) -> int:
    ran = limpet("status", ROOT / "examples" / "shop.py", "--json", env=stand.seen)
    return int(json.loads(ran.out)["records"]) if ran.code == 0 else 0
