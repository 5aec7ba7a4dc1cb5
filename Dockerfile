# dmlviz in a container, for linux/amd64 and linux/arm64: docs/HOSTING.md says how to run it.
#
# The base image is named by its digest, so that the same build gives the same image, and nobody exchanges it:
#
#   docker pull python:3.11-slim-bookworm
#   docker build --build-arg BASE=$(docker inspect --format '{{index .RepoDigests 0}}' python:3.11-slim-bookworm) .
ARG BASE=python:3.11-slim-bookworm
FROM ${BASE} AS build
ARG BASE
RUN echo "$BASE" | grep -Eq '@sha256:[0-9a-f]{64}$' || { echo "Give the base image by its digest, --build-arg BASE=python@sha256:…; the top of the Dockerfile says how to find it."; exit 1; }
# The build of torch without CUDA: 0.2 GB instead of 3 GB.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python3 -m venv /opt/dmlviz
WORKDIR /src
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY app app
COPY dmlviz dmlviz
RUN /opt/dmlviz/bin/pip install --constraint constraints.txt --extra-index-url "$TORCH_INDEX" ".[fleet,torchvision]"
# Kernels for a processor like this one: into /opt/dmlviz/kernels. On another they are compiled when the server starts.
RUN XDG_CACHE_HOME=/opt /opt/dmlviz/bin/python -m dmlviz.projection.compilation
# What is installed, with versions and licenses, as CycloneDX (docs/HOSTING.md); Debian's packages are listed below.
RUN python3 -m venv /opt/sbom && /opt/sbom/bin/pip install cyclonedx-bom==7.5.0 && \
    /opt/sbom/bin/cyclonedx-py environment --output-reproducible --output-format JSON --output-file /opt/dmlviz/sbom.cdx.json /opt/dmlviz/bin/python

FROM ${BASE}
# 1000 is what Hugging Face runs containers as, too.
RUN useradd --uid 1000 --create-home dmlviz && mkdir /runs /data /certificates && chown dmlviz /runs /data /certificates
COPY --from=build /opt/dmlviz /opt/dmlviz
RUN dpkg-query --show > /opt/dmlviz/debian-packages.tsv
ENV PATH=/opt/dmlviz/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/tmp/numba \
    XDG_CACHE_HOME=/tmp/cache \
    DMLVIZ_RUNS=/runs \
    DMLVIZ_DATA=/data \
    DMLVIZ_CERTIFICATES=/certificates
VOLUME ["/runs", "/data", "/certificates"]
USER 1000
WORKDIR /home/dmlviz
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=10s --start-period=90s \
    CMD ["python3", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:8501' + os.environ.get('DMLVIZ_BASE_PATH', '') + '/dmlviz/health/ready', timeout=8)"]
ENTRYPOINT ["dmlviz"]
CMD ["serve", "--host", "0.0.0.0", "--no-browser"]
