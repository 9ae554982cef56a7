ALTER TABLE sessions ADD COLUMN address {{text}} NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN created_us BIGINT; -- null for sessions of earlier versions
ALTER TABLE sessions ADD COLUMN refreshed_us BIGINT; -- null before the first refresh
