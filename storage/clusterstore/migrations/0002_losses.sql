CREATE TABLE cluster_losses (
    engine_id  {{text}} NOT NULL PRIMARY KEY,
    session_id {{text}} NOT NULL,
    beat       BIGINT NOT NULL,
    engine     {{text}} NOT NULL, -- JSON: what the engine told the others
    since_us   BIGINT,
    at_us      BIGINT NOT NULL
);
