-- What aggregates need to know of the chunks that are not packed again, so that they need not be unpacked. It goes with its chunk, also when an
-- engine of an earlier version, which does not know of it, packs that again.
CREATE TABLE history_summary (
    tag_id   BIGINT NOT NULL,
    start_us BIGINT NOT NULL,
    data     {{bytes}} NOT NULL,
    PRIMARY KEY (tag_id, start_us),
    FOREIGN KEY (tag_id, start_us) REFERENCES history_chunk (tag_id, start_us) ON DELETE CASCADE
){{clustered}};
