-- Engines that share a database share all drivers.
ALTER TABLE drivers DROP COLUMN engine_id;
ALTER TABLE drivers ADD COLUMN requires {{text}} NOT NULL DEFAULT ''; -- JSON: labels that an engine must have; empty for none
ALTER TABLE drivers ADD COLUMN declared BOOLEAN NOT NULL DEFAULT FALSE; -- by the settings of engines

CREATE TABLE drivers_version (
    id      BIGINT NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL -- counts changes of drivers
);

INSERT INTO drivers_version (id, version) VALUES (1, 0);
