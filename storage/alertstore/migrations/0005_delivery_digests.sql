CREATE INDEX alert_deliveries_digest ON alert_deliveries (digest_id) WHERE digest_id <> '';
