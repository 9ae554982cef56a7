-- Whose account added a silence; empty without a token, and for those from before.
ALTER TABLE alert_silences ADD COLUMN recorded_by {{text}} NOT NULL DEFAULT '';
