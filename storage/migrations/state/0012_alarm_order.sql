-- Lists are ordered by the time of the raise. Each index has all that its lists can be narrowed by, so that
-- counting and skipping read it alone.
DROP INDEX alarm_occurrences_active;
CREATE INDEX alarm_occurrences_active ON alarm_occurrences (raised_us, seq, severity, withheld, acknowledged_us, active) WHERE active;
DROP INDEX alarm_occurrences_raised;
CREATE INDEX alarm_occurrences_raised ON alarm_occurrences (raised_us, seq, severity);
DROP INDEX alarm_occurrences_code;
CREATE INDEX alarm_occurrences_code ON alarm_occurrences (code, raised_us, seq);
-- The occurrence that an event is of; 0 for none and for events from before this was kept.
ALTER TABLE alarm_events ADD COLUMN occurrence_seq BIGINT NOT NULL DEFAULT 0;
CREATE INDEX alarm_events_occurrence ON alarm_events (occurrence_seq, seq);
-- Who has withheld a condition, when and why.
ALTER TABLE alarm_conditions ADD COLUMN withheld_by {{text}} NOT NULL DEFAULT '';
ALTER TABLE alarm_conditions ADD COLUMN withheld_us BIGINT;
ALTER TABLE alarm_conditions ADD COLUMN withheld_comment {{text}} NOT NULL DEFAULT '';
