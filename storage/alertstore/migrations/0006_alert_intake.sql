-- The last end of each alarm of a webhook, so that any engine can tell a new beginning from a late message.
CREATE TABLE alert_ends (
    alarm   {{text}} NOT NULL PRIMARY KEY,
    at_us   BIGINT NOT NULL,  -- by the sender's clock
    told_us BIGINT NOT NULL,  -- by the engine's clock
    told_by {{text}} NOT NULL -- the senders that told it, separated by blanks
);
CREATE INDEX alert_ends_told ON alert_ends (told_us);
-- What lists show of labels that are too long for them; empty where they show all.
ALTER TABLE alert_records ADD COLUMN brief {{text}} NOT NULL DEFAULT '';
-- The members that were too long to be kept whole, separated by blanks.
ALTER TABLE alert_records ADD COLUMN truncated {{text}} NOT NULL DEFAULT '';
-- Whether a silence was made by somebody without a token.
ALTER TABLE alert_silences ADD COLUMN anonymous BOOLEAN NOT NULL DEFAULT FALSE;
-- Changes with what a sender may say otherwise of an alert that lasts; empty where it is not known.
ALTER TABLE alert_records ADD COLUMN digest {{text}} NOT NULL DEFAULT '';
