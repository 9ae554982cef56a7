CREATE TABLE bridge_bindings (
    bridge_id        {{text}} NOT NULL PRIMARY KEY,
    driver_id        {{text}} NOT NULL,
    driver_type      {{text}} NOT NULL,
    engine_id        {{text}} NOT NULL,
    bound_us         BIGINT,
    urls             {{text}} NOT NULL, -- JSON, in the order in which they are tried
    token            {{text}} NOT NULL, -- empty once the bridge has used its session key
    session_key      {{text}} NOT NULL, -- empty until the first link
    linked_us        BIGINT,
    heartbeat_us     BIGINT,
    offline          BOOLEAN NOT NULL,
    lost             BIGINT NOT NULL,
    recently_lost    BIGINT NOT NULL,
    lost_us          BIGINT,
    lost_text        {{text}} NOT NULL,
    driver_down_us   BIGINT,
    driver_down_text {{text}} NOT NULL,
    manifest_hash    {{text}} NOT NULL,
    tag_count        BIGINT NOT NULL,
    active_submodels {{text}} NOT NULL -- JSON
);
CREATE UNIQUE INDEX bridge_bindings_drivers ON bridge_bindings (driver_id);

CREATE TABLE bridge_manifests (
    bridge_id {{text}} NOT NULL PRIMARY KEY,
    manifest  {{bytes}} NOT NULL -- JSON, compressed with gzip
);

CREATE TABLE bridge_positions (
    bridge_id {{text}} NOT NULL PRIMARY KEY, -- also of bridges that are no longer bound
    epoch     {{text}} NOT NULL,
    position  BIGINT NOT NULL
);
