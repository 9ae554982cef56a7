CREATE TABLE bus_messages (
    engine     {{text}} NOT NULL, -- the session of who sent it
    seq        BIGINT NOT NULL,   -- counted by the session; becomes visible in order
    subject    {{text}} NOT NULL,
    request    BIGINT NOT NULL,   -- number of a request of the session, or that an answer is to; 0 for messages
    expires_us BIGINT NOT NULL,   -- of a request, by the clock of the database
    data       {{bytes}} NOT NULL,
    PRIMARY KEY (engine, seq)
);
{{postgres}}ALTER TABLE bus_messages SET UNLOGGED;
{{postgres}}ALTER TABLE bus_messages ALTER COLUMN data SET STORAGE EXTERNAL;
{{postgres}}ALTER TABLE bus_messages SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
