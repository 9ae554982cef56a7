CREATE TABLE device_fence ( -- one row
    id    {{key}},
    epoch BIGINT NOT NULL -- of the engine that carries out commands; it alone writes
);
INSERT INTO device_fence (id, epoch) VALUES (1, 0);
