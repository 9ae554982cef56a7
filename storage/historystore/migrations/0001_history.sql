CREATE TABLE history_tag (
    id   {{serial}},
    name {{text}} NOT NULL UNIQUE
);

-- Batches as they were appended, until compaction moves them into chunks.
CREATE TABLE history_wal (
    seq    {{serial}},
    min_us BIGINT NOT NULL,
    max_us BIGINT NOT NULL,
    count  BIGINT NOT NULL,
    data   {{bytes}} NOT NULL
);

-- Runs of one tag's samples; the runs of a tag never overlap.
CREATE TABLE history_chunk (
    tag_id   BIGINT NOT NULL,
    start_us BIGINT NOT NULL,
    end_us   BIGINT NOT NULL,
    count    BIGINT NOT NULL,
    data     {{bytes}} NOT NULL,
    PRIMARY KEY (tag_id, start_us)
);
CREATE INDEX history_chunk_end ON history_chunk (end_us);

-- One row: what the chunks take, so that nobody has to add it up.
CREATE TABLE history_total (
    id      BIGINT NOT NULL PRIMARY KEY,
    bytes   BIGINT NOT NULL,
    samples BIGINT NOT NULL
);
INSERT INTO history_total (id, bytes, samples) VALUES (1, 0, 0);
