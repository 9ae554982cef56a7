-- What is looked at of a silenced delivery, so that its message need not be read. Where source_type is empty
-- it must be.
ALTER TABLE alert_deliveries ADD COLUMN source {{text}} NOT NULL DEFAULT '';
ALTER TABLE alert_deliveries ADD COLUMN source_type {{text}} NOT NULL DEFAULT '';
-- Tells of an alarm about dead letters.
ALTER TABLE alert_deliveries ADD COLUMN own BOOLEAN NOT NULL DEFAULT FALSE;
