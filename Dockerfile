# dmlviz in a container, for linux/amd64 and linux/arm64: docs/HOSTING.md says how to run it.
FROM python:3.11-slim-bookworm AS build
# The build of torch without CUDA: 0.2 GB instead of 3 GB.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python3 -m venv /opt/dmlviz
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY dmlviz dmlviz
RUN /opt/dmlviz/bin/pip install --extra-index-url "$TORCH_INDEX" ".[fleet,login]"

FROM python:3.11-slim-bookworm
# 1000 is what Hugging Face runs containers as, too.
RUN useradd --uid 1000 --create-home dmlviz && mkdir /runs /data /certificates && chown dmlviz /runs /data /certificates
COPY --from=build /opt/dmlviz /opt/dmlviz
ENV PATH=/opt/dmlviz/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/tmp/numba \
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
