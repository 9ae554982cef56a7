-- Records are counted by severity in alert_blocks: this index was for that alone, and each new record paid for it.
DROP INDEX alert_records_severity;
