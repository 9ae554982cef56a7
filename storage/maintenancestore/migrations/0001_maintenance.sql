CREATE TABLE maintenance_failures (
    id           {{text}} NOT NULL PRIMARY KEY,
    equipment_id {{text}} NOT NULL,
    component    {{text}} NOT NULL, -- empty for none
    code         {{text}} NOT NULL, -- empty for none
    source       {{text}} NOT NULL, -- manual, alarm or csv
    note         {{text}} NOT NULL,
    start_us     BIGINT NOT NULL,
    noticed_us   BIGINT,
    end_us       BIGINT
);
CREATE INDEX maintenance_failures_times ON maintenance_failures (start_us, id);
CREATE INDEX maintenance_failures_equipment ON maintenance_failures (equipment_id, start_us, id);
CREATE UNIQUE INDEX maintenance_failures_alarms ON maintenance_failures (equipment_id, component, start_us, code) WHERE source = 'alarm';

CREATE TABLE maintenance_replacements (
    id           {{text}} NOT NULL PRIMARY KEY,
    equipment_id {{text}} NOT NULL,
    component    {{text}} NOT NULL,
    reason       {{text}} NOT NULL, -- failure or preventive
    source       {{text}} NOT NULL, -- manual, alarm or csv
    note         {{text}} NOT NULL,
    at_us        BIGINT NOT NULL
);
CREATE INDEX maintenance_replacements_times ON maintenance_replacements (at_us, id);
CREATE INDEX maintenance_replacements_equipment ON maintenance_replacements (equipment_id, at_us, id);
CREATE UNIQUE INDEX maintenance_replacements_alarms ON maintenance_replacements (equipment_id, component, at_us, reason) WHERE source = 'alarm';
