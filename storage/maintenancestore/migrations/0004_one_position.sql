-- Each engine of a database recorded the alarms of its own equipment. Now one does for all, and goes on where the most advanced one was.
UPDATE maintenance_positions SET seq = (SELECT MAX(p.seq) FROM maintenance_positions p) WHERE name = 'alarms';
