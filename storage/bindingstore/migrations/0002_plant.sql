-- Engines that share a database share the bridges.
ALTER TABLE bridge_positions ADD COLUMN fence BIGINT NOT NULL DEFAULT 0; -- epoch of the lease of the engine that has the link; 0 for none
ALTER TABLE bridge_bindings ADD COLUMN report {{text}} NOT NULL DEFAULT ''; -- JSON; empty for none
ALTER TABLE bridge_bindings ADD COLUMN report_epoch BIGINT NOT NULL DEFAULT 0;

CREATE TABLE bridge_plant (
    id       BIGINT NOT NULL PRIMARY KEY,
    plant_id {{text}} NOT NULL, -- by which bridges know the engines; empty until there is one
    version  BIGINT NOT NULL -- counts changes of bindings and engines
);

INSERT INTO bridge_plant (id, plant_id, version) VALUES (1, '', 0);

CREATE TABLE bridge_engines (
    engine_id {{text}} NOT NULL PRIMARY KEY,
    urls      {{text}} NOT NULL, -- JSON
    pins      {{text}} NOT NULL, -- JSON
    seen_us   BIGINT
);
