CREATE TABLE accounts (
    name_key      {{text}} NOT NULL PRIMARY KEY, -- the name in lower case
    name          {{text}} NOT NULL,
    password_hash {{text}} NOT NULL,
    role          {{text}} NOT NULL,
    created_us    BIGINT,
    updated_us    BIGINT
);

CREATE TABLE sessions (
    id           {{text}} NOT NULL PRIMARY KEY,
    account_key  {{text}} NOT NULL, -- the account's name in lower case
    account      {{text}} NOT NULL,
    refresh_hash {{bytes}} NOT NULL,
    expires_us   BIGINT,
    ended_us     BIGINT -- null while the session lives
);
CREATE INDEX sessions_account ON sessions (account_key);
CREATE INDEX sessions_expires ON sessions (expires_us);
