CREATE TABLE drivers (
    id             {{text}} NOT NULL PRIMARY KEY,
    engine_id      {{text}} NOT NULL, -- which of several engines runs it; empty until one has loaded it
    type           {{text}} NOT NULL,
    enabled        BOOLEAN NOT NULL,
    address        {{text}} NOT NULL,
    port           BIGINT NOT NULL,
    poll_ns        BIGINT NOT NULL,
    timeout_ns     BIGINT NOT NULL,
    max_backoff_ns BIGINT NOT NULL,
    settings       {{text}} NOT NULL, -- JSON, as it was given
    revision       BIGINT NOT NULL,
    created_us     BIGINT,
    updated_us     BIGINT
);
