-- What raised an occurrence, as JSON; empty for nothing and for those from before.
ALTER TABLE alarm_occurrences ADD COLUMN cause {{text}} NOT NULL DEFAULT '';
