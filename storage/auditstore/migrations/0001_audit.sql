-- The chain has one row, which every append locks.
CREATE TABLE audit_chain (
    id          BIGINT NOT NULL PRIMARY KEY,
    anchor_seq  BIGINT NOT NULL, -- the last entry that retention removed
    anchor_hash {{bytes}} NOT NULL,
    head_seq    BIGINT NOT NULL, -- the newest entry
    head_hash   {{bytes}} NOT NULL
);

CREATE TABLE audit_entries (
    seq        {{key}},
    at_us      BIGINT NOT NULL,
    intent     BIGINT, -- of an outcome: the entry it belongs to; null for intents and events
    actor      {{text}} NOT NULL,
    principal  {{text}} NOT NULL,
    role       {{text}} NOT NULL,
    session    {{text}} NOT NULL,
    address    {{text}} NOT NULL,
    via        {{text}} NOT NULL,
    action     {{text}} NOT NULL,
    objects    {{text}} NOT NULL, -- each between two line feeds; empty for none
    old_values {{text}} NOT NULL,
    new_values {{text}} NOT NULL,
    outcome    {{text}} NOT NULL, -- empty for an intent
    code       {{text}} NOT NULL,
    detail     {{text}} NOT NULL,
    hash       {{bytes}} NOT NULL
);
CREATE INDEX audit_outcomes ON audit_entries (intent, seq) WHERE intent IS NOT NULL;
CREATE INDEX audit_records ON audit_entries (seq) WHERE intent IS NULL;
CREATE INDEX audit_times ON audit_entries (at_us, seq) WHERE intent IS NULL;
CREATE INDEX audit_actors ON audit_entries (actor, seq) WHERE intent IS NULL;
CREATE INDEX audit_actions ON audit_entries (action, seq) WHERE intent IS NULL;
