CREATE TABLE maintenance_positions (
    name {{text}} NOT NULL PRIMARY KEY,
    seq  BIGINT NOT NULL -- of the newest event of the journal of alarms that need not be read again
);
INSERT INTO maintenance_positions (name, seq) VALUES ('alarms', 0);
