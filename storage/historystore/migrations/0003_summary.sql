-- What aggregates need to know of the chunks that are not packed again, so that they need not be unpacked.
CREATE TABLE history_summary (
    tag_id   BIGINT NOT NULL,
    start_us BIGINT NOT NULL,
    data     {{bytes}} NOT NULL,
    PRIMARY KEY (tag_id, start_us)
){{clustered}};
