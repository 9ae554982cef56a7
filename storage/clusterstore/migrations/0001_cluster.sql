CREATE TABLE cluster_sessions (
    session_id {{text}} NOT NULL PRIMARY KEY,
    beat       BIGINT NOT NULL,
    engine     {{text}} NOT NULL, -- JSON: what the engine tells the others
    since_us   BIGINT
);

CREATE TABLE cluster_leases (
    work       {{text}} NOT NULL PRIMARY KEY,
    session_id {{text}} NOT NULL, -- empty when nobody holds it
    epoch      BIGINT NOT NULL
);
