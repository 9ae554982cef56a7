-- What the dashboard is told, for the hubs of all engines that share a database.
CREATE TABLE alert_posts (
    seq          {{serial}},
    id           {{text}} NOT NULL UNIQUE, -- of the notification
    at_us        BIGINT NOT NULL,
    notification {{text}} NOT NULL -- JSON
);
CREATE INDEX alert_posts_time ON alert_posts (at_us);
