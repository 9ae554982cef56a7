CREATE TABLE aas_documents (
    kind           BIGINT NOT NULL,
    id             {{text}} NOT NULL, -- or what stands for a long one
    long_id        {{text}}, -- null for one that is not long
    id_short       {{text}} NOT NULL,
    id_short_lower {{text}} NOT NULL,
    version        BIGINT NOT NULL,
    live           BOOLEAN NOT NULL,
    facts          {{bytes}} NOT NULL, -- hash of what it is found by
    json           {{text}} NOT NULL,
    PRIMARY KEY (kind, id)
);
-- Looking for a part of an idShort reads nothing but this.
CREATE INDEX aas_documents_part ON aas_documents (kind, id, id_short_lower);
CREATE INDEX aas_documents_name ON aas_documents (kind, id_short, id);

CREATE TABLE aas_terms (
    kind  BIGINT NOT NULL,
    name  {{text}} NOT NULL,
    value {{text}} NOT NULL, -- or what stands for a long one
    id    {{text}} NOT NULL, -- of the document, as there
    PRIMARY KEY (kind, name, value, id)
){{clustered}};
CREATE INDEX aas_terms_document ON aas_terms (kind, id, name, value);

CREATE TABLE aas_files (
    kind         BIGINT NOT NULL,
    id           {{text}} NOT NULL, -- of the document, as there
    name         {{text}} NOT NULL, -- or what stands for a long one
    long_name    {{text}}, -- null for one that is not long
    content_type {{text}} NOT NULL,
    data         {{bytes}} NOT NULL,
    PRIMARY KEY (kind, id, name)
);

CREATE TABLE aas_counts (
    kind      BIGINT NOT NULL,
    slot      BIGINT NOT NULL, -- several, so that writers seldom meet
    documents BIGINT NOT NULL,
    changes   BIGINT NOT NULL, -- of what documents are found by, ever
    PRIMARY KEY (kind, slot)
);
