-- How many rows of each class there are, in blocks that follow one another in the order of the lists: totals and
-- pages are found without reading what is before the page. A block has the rows from its place up to the next one's.
-- Blocks are made from the rows by the first write; a table without blocks has not been counted.
CREATE TABLE alarm_blocks (
    low_us BIGINT NOT NULL,
    low_id BIGINT NOT NULL,
    counts {{bytes}} NOT NULL,
    PRIMARY KEY (low_us, low_id)
){{clustered}};
-- For the list of alarms that have ended and that nobody has acknowledged.
CREATE INDEX alarm_occurrences_returned ON alarm_occurrences (raised_us, seq, severity, withheld, active, acknowledged_us)
    WHERE NOT active AND acknowledged_us IS NULL;
