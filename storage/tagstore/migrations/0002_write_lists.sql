-- The driver and the address of the tag when the write was queued. Of earlier writes the address is not known, and the
-- driver is what its tag's name has before the first dot: ltrim removes what is not a dot.
ALTER TABLE tag_writes ADD COLUMN driver {{text}} NOT NULL DEFAULT '';
ALTER TABLE tag_writes ADD COLUMN address {{text}} NOT NULL DEFAULT '';
UPDATE tag_writes SET driver = substr(tag, 1, length(tag) - length(ltrim(tag, replace(tag, '.', '')))) WHERE tag LIKE '%.%';
-- Lists are ordered by time and id. Each index has the state, so that counting reads it alone. Only the one for all
-- writes has the id, for pages far behind: with the others, writes of one microsecond are sorted.
DROP INDEX tag_writes_time;
CREATE INDEX tag_writes_time ON tag_writes (queued_us, id, state);
CREATE INDEX tag_writes_tag ON tag_writes (tag, queued_us, state);
CREATE INDEX tag_writes_driver ON tag_writes (driver, queued_us, state, address);
CREATE INDEX tag_writes_by ON tag_writes (written_by, queued_us, state);
CREATE INDEX tag_writes_exceptions ON tag_writes (queued_us, id, state) WHERE state NOT IN ('Written', 'Confirmed');
