CREATE TABLE alert_silences (
    id          {{text}} NOT NULL PRIMARY KEY,
    source_type {{text}} NOT NULL,
    pattern     {{text}} NOT NULL,
    reason      {{text}} NOT NULL,
    created_by  {{text}} NOT NULL,
    created_us  BIGINT,
    starts_us   BIGINT,
    ends_us     BIGINT
);
CREATE INDEX alert_silences_end ON alert_silences (ends_us);

CREATE TABLE alert_sources (
    id     {{key}},
    source {{text}} NOT NULL UNIQUE,
    folded {{text}} NOT NULL -- the form in which a part of it is looked for
);

CREATE TABLE alert_records (
    id           {{text}} NOT NULL PRIMARY KEY,
    record_key   {{text}} NOT NULL UNIQUE, -- alarm and time in one
    alarm        {{text}} NOT NULL,
    at_us        BIGINT NOT NULL,
    severity     BIGINT NOT NULL,
    source_id    BIGINT NOT NULL, -- in alert_sources
    source_type  {{text}} NOT NULL,
    title        {{text}} NOT NULL,
    description  {{text}} NOT NULL,
    labels       {{text}} NOT NULL, -- JSON, empty for none
    annotations  {{text}} NOT NULL, -- JSON, empty for none
    completed_us BIGINT
);
CREATE INDEX alert_records_open ON alert_records (alarm) WHERE completed_us IS NULL;
CREATE INDEX alert_records_time ON alert_records (at_us, id, severity, source_id);
-- For counting, which reads nothing but these.
CREATE INDEX alert_records_severity ON alert_records (severity, at_us);
CREATE INDEX alert_records_source ON alert_records (source_id, at_us);

CREATE TABLE alert_cursor (
    id  BIGINT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL -- of the newest event that was planned
);
INSERT INTO alert_cursor (id, seq) VALUES (1, 0);

CREATE TABLE alert_deliveries (
    id           {{text}} NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL,
    event_id     {{text}} NOT NULL,
    occurrence   {{text}} NOT NULL, -- empty for a digest
    channel      {{text}} NOT NULL,
    resolved     BOOLEAN NOT NULL,
    state        {{text}} NOT NULL,
    attempts     BIGINT NOT NULL,
    uncertain    BOOLEAN NOT NULL,
    next_us      BIGINT NOT NULL,
    owner        {{text}} NOT NULL,
    lease_us     BIGINT,
    last_error   {{text}} NOT NULL,
    digest_id    {{text}} NOT NULL,
    created_us   BIGINT,
    expires_us   BIGINT,
    settled_us   BIGINT,
    notification {{text}} NOT NULL, -- JSON
    UNIQUE (event_id, channel)
);
CREATE INDEX alert_deliveries_pending ON alert_deliveries (channel, next_us) WHERE state = 'pending';
CREATE INDEX alert_deliveries_sending ON alert_deliveries (channel, lease_us) WHERE state = 'sending';
CREATE INDEX alert_deliveries_open ON alert_deliveries (channel, seq, id) WHERE state IN ('pending', 'sending');
CREATE INDEX alert_deliveries_dead ON alert_deliveries (seq, id) WHERE state = 'dead';
CREATE INDEX alert_deliveries_occurrence ON alert_deliveries (occurrence, channel, seq);
CREATE INDEX alert_deliveries_settled ON alert_deliveries (settled_us) WHERE settled_us IS NOT NULL;
