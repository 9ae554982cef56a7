-- Whose account recorded a resolution; empty for those from before.
ALTER TABLE alarm_resolutions ADD COLUMN recorded_by {{text}} NOT NULL DEFAULT '';
