CREATE TABLE alarm_rules_version (
    id      BIGINT NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL -- counts changes of alarm_rules, so that engines see those of others
);
INSERT INTO alarm_rules_version (id, version) VALUES (1, 0);
