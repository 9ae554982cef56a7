-- How many rows of each class there are, in blocks that follow one another in the order of the lists, as for alarms.
CREATE TABLE alert_blocks (
    low_us BIGINT NOT NULL,
    low_id {{text}} NOT NULL,
    counts {{bytes}} NOT NULL,
    PRIMARY KEY (low_us, low_id)
){{clustered}};
-- For the list of alerts that are firing.
CREATE INDEX alert_records_firing ON alert_records (at_us, id, severity, completed_us) WHERE completed_us IS NULL;
