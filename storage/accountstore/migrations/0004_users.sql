ALTER TABLE accounts ADD COLUMN disabled BIGINT NOT NULL DEFAULT 0; -- 1: nobody may log in
ALTER TABLE accounts ADD COLUMN last_sign_in_us BIGINT; -- null before the first one
