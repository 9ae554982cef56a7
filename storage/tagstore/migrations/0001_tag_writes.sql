CREATE TABLE tag_writes (
    id           {{text}} NOT NULL PRIMARY KEY,
    tag          {{text}} NOT NULL,
    value_type   {{text}} NOT NULL,
    value        {{bytes}} NOT NULL, -- as Value.String gives it; bytes, since a text may hold NUL
    written_by   {{text}} NOT NULL,
    state        {{text}} NOT NULL,
    error        {{text}} NOT NULL,
    confirm      BOOLEAN NOT NULL,
    queued_us    BIGINT,
    completed_us BIGINT -- null until the state is final
);
CREATE INDEX tag_writes_time ON tag_writes (queued_us);
CREATE INDEX tag_writes_open ON tag_writes (queued_us) WHERE state = 'Queued';
