-- Lists are ordered by the time of the raise. Each index has all that its lists can be narrowed by, so that
-- counting and skipping read it alone.
DROP INDEX alarm_occurrences_active;
CREATE INDEX alarm_occurrences_active ON alarm_occurrences (raised_us, seq, severity, withheld, acknowledged_us, active) WHERE active;
DROP INDEX alarm_occurrences_raised;
CREATE INDEX alarm_occurrences_raised ON alarm_occurrences (raised_us, seq, severity);
DROP INDEX alarm_occurrences_code;
CREATE INDEX alarm_occurrences_code ON alarm_occurrences (code, raised_us, seq);
-- The occurrence that an event is of; 0 for none. Its JSON begins with {"seq":123, where there is one: the digits are
-- cut out of the text, since the databases read JSON differently and a damaged event must not stop the migration.
ALTER TABLE alarm_events ADD COLUMN occurrence_seq BIGINT NOT NULL DEFAULT 0;
UPDATE alarm_events SET occurrence_seq = CAST(substr(occurrence, 8,
    length(substr(occurrence, 8, 18)) - length(ltrim(substr(occurrence, 8, 18), '0123456789'))) AS BIGINT)
    WHERE substr(occurrence, 1, 7) = '{"seq":' AND substr(occurrence, 8, 1) BETWEEN '1' AND '9';
CREATE INDEX alarm_events_occurrence ON alarm_events (occurrence_seq, seq);
-- Who has withheld a condition, when and why.
ALTER TABLE alarm_conditions ADD COLUMN withheld_by {{text}} NOT NULL DEFAULT '';
ALTER TABLE alarm_conditions ADD COLUMN withheld_us BIGINT;
ALTER TABLE alarm_conditions ADD COLUMN withheld_comment {{text}} NOT NULL DEFAULT '';
