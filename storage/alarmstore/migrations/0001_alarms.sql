CREATE TABLE alarm_counter (
    id   BIGINT NOT NULL PRIMARY KEY,
    seq  BIGINT NOT NULL, -- of the newest event; it never goes back, though events are trimmed
    code BIGINT NOT NULL  -- of the newest condition
);
INSERT INTO alarm_counter (id, seq, code) VALUES (1, 0, 0);

CREATE TABLE alarm_conditions (
    code             {{key}},
    alarm_key        {{text}} NOT NULL UNIQUE,
    withheld         BIGINT NOT NULL,
    shelved_until_us BIGINT,
    shelved_by       {{text}} NOT NULL,
    last_seq         BIGINT -- of the newest occurrence; null when there was none
);
CREATE INDEX alarm_conditions_withheld ON alarm_conditions (code) WHERE withheld <> 0;

CREATE TABLE alarm_occurrences (
    seq             {{key}},
    id              {{text}} NOT NULL UNIQUE,
    code            BIGINT NOT NULL,
    source          {{text}} NOT NULL,
    source_type     {{text}} NOT NULL,
    message         {{text}} NOT NULL,
    severity        BIGINT NOT NULL,
    raised_us       BIGINT,
    returned_us     BIGINT,
    cleared_us      BIGINT,
    acknowledged_us BIGINT,
    acknowledged_by {{text}} NOT NULL,
    comment         {{text}} NOT NULL,
    active          BOOLEAN NOT NULL,
    latching        BOOLEAN NOT NULL,
    withheld        BIGINT NOT NULL,
    labels          {{text}} NOT NULL -- JSON, empty for none
);
CREATE INDEX alarm_occurrences_code ON alarm_occurrences (code, seq);
CREATE INDEX alarm_occurrences_raised ON alarm_occurrences (raised_us, severity);
-- It has all that a list of active occurrences can be narrowed by, so that counting reads it alone.
CREATE INDEX alarm_occurrences_active ON alarm_occurrences (seq, severity, withheld, acknowledged_us, raised_us, active) WHERE active;

CREATE TABLE alarm_events (
    seq        {{key}},
    id         {{text}} NOT NULL,
    at_us      BIGINT,
    kind       {{text}} NOT NULL,
    done_by    {{text}} NOT NULL,
    comment    {{text}} NOT NULL,
    until_us   BIGINT,
    is_new     BOOLEAN NOT NULL,
    occurrence {{text}} NOT NULL -- JSON, as the event left it
);
CREATE INDEX alarm_events_time ON alarm_events (at_us);

CREATE TABLE alarm_resolutions (
    id          {{serial}},
    code        BIGINT NOT NULL,
    resolved_by {{text}} NOT NULL,
    resolved_us BIGINT,
    action      {{text}} NOT NULL,
    successful  BOOLEAN NOT NULL,
    notes       {{text}}
);
CREATE INDEX alarm_resolutions_code ON alarm_resolutions (code, id);

CREATE TABLE alarm_rules (
    id   {{text}} NOT NULL PRIMARY KEY,
    rule {{text}} NOT NULL -- JSON
);

CREATE TABLE alarm_rule_states (
    rule_id  {{text}} NOT NULL PRIMARY KEY,
    phase    {{text}} NOT NULL,
    since_us BIGINT
);
