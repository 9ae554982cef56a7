CREATE TABLE predictive_versions (
    model_type {{text}} NOT NULL PRIMARY KEY,
    last       BIGINT NOT NULL -- the highest version that there was: none is used again
);
CREATE TABLE predictive_models (
    model_type {{text}} NOT NULL,
    version    BIGINT NOT NULL,
    serves     BOOLEAN NOT NULL, -- it may be the default
    trained_us BIGINT,
    sha256     {{text}} NOT NULL, -- of the model
    meta       {{text}} NOT NULL, -- JSON
    PRIMARY KEY (model_type, version)
);
CREATE TABLE predictive_model_parts (
    model_type {{text}} NOT NULL,
    version    BIGINT NOT NULL,
    part       BIGINT NOT NULL, -- from 0
    data       {{bytes}} NOT NULL,
    PRIMARY KEY (model_type, version, part)
);
CREATE TABLE predictive_jobs (
    id         {{text}} NOT NULL PRIMARY KEY,
    number     BIGINT NOT NULL, -- ascending in the order in which they began
    position   BIGINT NOT NULL, -- ascending with each change of any
    model_type {{text}} NOT NULL,
    state      {{text}} NOT NULL,
    canceled   BOOLEAN NOT NULL,
    engine     {{text}} NOT NULL,
    job        {{text}} NOT NULL -- the rest as JSON
);
CREATE INDEX predictive_jobs_position ON predictive_jobs (position);
