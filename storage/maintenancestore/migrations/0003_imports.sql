CREATE TABLE maintenance_imports ( -- that are not complete: their records do not count yet
    id         BIGINT NOT NULL PRIMARY KEY,
    touched_us BIGINT NOT NULL -- when its last records were added; 0 if it was given up
);
ALTER TABLE maintenance_failures ADD COLUMN import_id BIGINT NOT NULL DEFAULT 0; -- 0 for none
CREATE INDEX maintenance_failures_imports ON maintenance_failures (import_id) WHERE import_id <> 0;
ALTER TABLE maintenance_replacements ADD COLUMN import_id BIGINT NOT NULL DEFAULT 0;
CREATE INDEX maintenance_replacements_imports ON maintenance_replacements (import_id) WHERE import_id <> 0;
