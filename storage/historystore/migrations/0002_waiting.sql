-- Samples that wait to be moved into chunks: a row for each call of Append and group of tags (shard).
CREATE TABLE history_waiting (
    seq      {{serial}},
    shard    BIGINT NOT NULL,
    min_us   BIGINT NOT NULL,
    max_us   BIGINT NOT NULL,
    added_us BIGINT NOT NULL,
    count    BIGINT NOT NULL,
    data     {{bytes}} NOT NULL
);
CREATE INDEX history_waiting_shard ON history_waiting (shard, seq, count, added_us);

-- Samples are packed already: PostgreSQL would look in vain for what can be packed further.
{{postgres}}ALTER TABLE history_waiting ALTER COLUMN data SET STORAGE EXTERNAL;
{{postgres}}ALTER TABLE history_chunk ALTER COLUMN data SET STORAGE EXTERNAL;
