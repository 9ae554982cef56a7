CREATE TABLE tag_config_items (
    tag_id   {{text}} NOT NULL PRIMARY KEY,
    item     {{text}} NOT NULL, -- JSON, as in the model file; empty if it was removed
    position BIGINT NOT NULL,
    revision BIGINT NOT NULL
);
CREATE INDEX tag_config_items_revisions ON tag_config_items (revision);

CREATE TABLE tag_config_state (
    id       BIGINT NOT NULL PRIMARY KEY, -- 1
    revision BIGINT NOT NULL, -- of the whole
    trimmed  BIGINT NOT NULL, -- newest revision of removed items that are not known any more
    header   {{text}} NOT NULL -- JSON of what the model file has beside items; empty for none
);
INSERT INTO tag_config_state VALUES (1, 0, 0, '');

CREATE TABLE tag_config_files (
    engine           {{text}} NOT NULL PRIMARY KEY, -- whose model file it is; empty for the only one
    written_hash     {{text}} NOT NULL,
    written_revision BIGINT NOT NULL,
    next_hash        {{text}} NOT NULL,
    next_revision    BIGINT NOT NULL
);
