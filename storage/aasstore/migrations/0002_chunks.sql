-- The elements of a large submodel are kept in chunks, so that a change of one writes few of them.
-- The size is that of the JSON in chunks, and 0 for a document whose JSON is in the column json.
ALTER TABLE aas_documents ADD COLUMN size BIGINT NOT NULL DEFAULT 0;

CREATE TABLE aas_chunks (
    kind   BIGINT NOT NULL,
    id     {{text}} NOT NULL, -- of the document, as there
    number BIGINT NOT NULL, -- from 0 on elements in their order; below 0 an index by idShort
    names  {{bytes}} NOT NULL, -- idShorts and lengths of the elements
    data   {{bytes}} NOT NULL,
    PRIMARY KEY (kind, id, number)
);
