-- Public keys of the engines that share a database, by which they accept each other's tokens.
CREATE TABLE engine_keys (
    id         {{text}} NOT NULL PRIMARY KEY,
    public_key {{bytes}} NOT NULL, -- PKIX
    expires_us BIGINT NOT NULL
);
