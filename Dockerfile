# docker build -t mirflow . && docker run --rm mirflow
# For a folder of yours: docker run --rm -v "$PWD:/data" --user "$(id -u)" mirflow run pipeline.yaml
# For a server: deploy/compose.yaml
FROM python:3.12-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[report,serve]" "psycopg[binary]>=3.2.2" && rm -r /wheels
# matplotlib keeps its fonts here, whatever the user is.
ENV MPLCONFIGDIR=/tmp/matplotlib HOME=/tmp PYTHONUNBUFFERED=1
WORKDIR /data
ENTRYPOINT ["mirflow"]
CMD ["demo", "/tmp/mirflow-demo"]
