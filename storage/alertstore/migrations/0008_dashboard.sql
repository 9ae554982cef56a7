-- The dashboard follows the alarm journal: it is not a channel any more, so that nobody would send its deliveries. They
-- must not become dead letters, which raise an alarm.
UPDATE alert_deliveries SET state = 'dropped', settled_us = COALESCE(settled_us, created_us), owner = '', lease_us = NULL
    WHERE channel = 'dashboard' AND state IN ('pending', 'sending', 'silenced', 'dead');
