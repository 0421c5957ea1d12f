# Any Debian-based image with Python >= 3.11 (python, venv) serves; glibc is needed for the wheels.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
WORKDIR /src
COPY requirements.lock requirements-dev.lock ./
RUN python -m venv /opt/limpet \
 && /opt/limpet/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
 && python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements-dev.lock
COPY . .
RUN /opt/build/bin/hatchling build -t wheel -d /tmp/dist \
 && /opt/limpet/bin/pip install --no-cache-dir --no-index --no-deps /tmp/dist/*.whl

FROM ${BASE}
RUN useradd --uid 10001 --create-home limpet \
 && install -d -o limpet -g limpet /var/lib/limpet /site
COPY --from=build /opt/limpet /opt/limpet
ENV PATH=/opt/limpet/bin:$PATH LIMPET_HOME=/var/lib/limpet PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /site
VOLUME /var/lib/limpet
ENTRYPOINT ["limpet"]
CMD ["--help"]
