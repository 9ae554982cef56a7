-- A delivery has a recipient, which is part of what makes it unique.
CREATE TABLE alert_deliveries_new (
    id           {{text}} NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL,
    event_id     {{text}} NOT NULL,
    occurrence   {{text}} NOT NULL, -- empty for a digest
    channel      {{text}} NOT NULL,
    recipient    {{text}} NOT NULL, -- empty where the channel has none
    resolved     BOOLEAN NOT NULL,
    state        {{text}} NOT NULL,
    attempts     BIGINT NOT NULL,
    uncertain    BOOLEAN NOT NULL,
    next_us      BIGINT NOT NULL,
    owner        {{text}} NOT NULL,
    lease_us     BIGINT,
    last_error   {{text}} NOT NULL,
    digest_id    {{text}} NOT NULL,
    created_us   BIGINT,
    expires_us   BIGINT,
    settled_us   BIGINT,
    notification {{text}} NOT NULL, -- JSON
    UNIQUE (event_id, channel, recipient)
);
INSERT INTO alert_deliveries_new (id, seq, event_id, occurrence, channel, recipient, resolved, state, attempts, uncertain,
    next_us, owner, lease_us, last_error, digest_id, created_us, expires_us, settled_us, notification)
SELECT id, seq, event_id, occurrence, channel, '', resolved, state, attempts, uncertain,
    next_us, owner, lease_us, last_error, digest_id, created_us, expires_us, settled_us, notification FROM alert_deliveries;
DROP TABLE alert_deliveries;
ALTER TABLE alert_deliveries_new RENAME TO alert_deliveries;
CREATE INDEX alert_deliveries_pending ON alert_deliveries (channel, next_us) WHERE state = 'pending';
CREATE INDEX alert_deliveries_sending ON alert_deliveries (channel, lease_us) WHERE state = 'sending';
CREATE INDEX alert_deliveries_open ON alert_deliveries (channel, seq, id) WHERE state IN ('pending', 'sending');
CREATE INDEX alert_deliveries_silenced ON alert_deliveries (occurrence, id) WHERE state = 'silenced';
CREATE INDEX alert_deliveries_dead ON alert_deliveries (channel, seq, id) WHERE state = 'dead';
CREATE INDEX alert_deliveries_occurrence ON alert_deliveries (occurrence, channel, recipient, seq);
CREATE INDEX alert_deliveries_settled ON alert_deliveries (settled_us) WHERE settled_us IS NOT NULL;
CREATE INDEX alert_deliveries_created ON alert_deliveries (created_us);
