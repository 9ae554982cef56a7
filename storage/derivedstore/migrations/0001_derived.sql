CREATE TABLE derived_documents (
    kind       {{text}} NOT NULL,
    id         {{text}} NOT NULL,
    revision   BIGINT NOT NULL, -- 1 when it was added
    body       {{text}} NOT NULL, -- JSON
    created_us BIGINT,
    updated_us BIGINT,
    PRIMARY KEY (kind, id)
);

CREATE TABLE derived_position (
    name {{text}} NOT NULL PRIMARY KEY,
    seq  BIGINT NOT NULL -- counts the changes of documents
);
INSERT INTO derived_position (name, seq) VALUES ('documents', 0);
