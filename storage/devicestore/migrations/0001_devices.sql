CREATE TABLE devices (
    id           {{text}} NOT NULL PRIMARY KEY,
    tenant_id    {{text}} NOT NULL, -- empty for none
    name         {{text}} NOT NULL,
    description  {{text}} NOT NULL,
    state        {{text}} NOT NULL,
    held         BOOLEAN NOT NULL, -- a person has put it into maintenance
    stop_latched BOOLEAN NOT NULL, -- an emergency stop that nobody has reset
    last_seen_us BIGINT,
    created_us   BIGINT,
    telemetry    {{text}} NOT NULL -- JSON of the last report; empty for none
);

CREATE TABLE device_commands (
    id           {{text}} NOT NULL PRIMARY KEY,
    device_id    {{text}} NOT NULL,
    type         {{text}} NOT NULL,
    parameters   {{text}} NOT NULL, -- JSON
    priority     BIGINT NOT NULL,
    time_us      BIGINT,
    issued_by    {{text}} NOT NULL,
    issued_us    BIGINT NOT NULL,
    digest       {{text}} NOT NULL,
    path         {{text}} NOT NULL, -- JSON of the way that was reserved; empty for none
    phase        {{text}} NOT NULL,
    ended        BOOLEAN NOT NULL, -- the phase is final
    began_us     BIGINT,
    decision     {{text}} NOT NULL, -- JSON
    success      BOOLEAN NOT NULL,
    message      {{text}} NOT NULL,
    data         {{text}} NOT NULL, -- JSON; empty for none
    completed_us BIGINT
);
CREATE INDEX device_commands_times ON device_commands (issued_us, id);
CREATE INDEX device_commands_devices ON device_commands (device_id, issued_us, id);
CREATE INDEX device_commands_moves ON device_commands (device_id, began_us) WHERE path <> '' AND began_us IS NOT NULL AND phase <> 'Failed';
CREATE INDEX device_commands_unfinished ON device_commands (issued_us, id) WHERE NOT ended;
