-- A clock was ahead: what the future has seen is as old as the moment before this run. A reading
-- becomes one of before a loss, so that it proves nothing about it.
UPDATE site SET begin_stamp = min(begin_stamp, :stamp - 2), read_stamp = min(read_stamp, :stamp - 2),
    confirmed_stamp = min(confirmed_stamp, :stamp - 2), looked_stamp = min(looked_stamp, :stamp - 2),
    flawed_stamp = min(flawed_stamp, :stamp - 1),
    days = (SELECT json_group_array(value) FROM json_each(days) WHERE value < :stamp)
WHERE id = :site;

UPDATE document SET seen_stamp = min(seen_stamp, :stamp - 2), read_stamp = min(read_stamp, :stamp - 2),
    confirmed_stamp = min(confirmed_stamp, :stamp - 2), unknown_stamp = min(unknown_stamp, :stamp - 1),
    flawed_stamp = min(flawed_stamp, :stamp - 1)
WHERE site = :site;

UPDATE stretch SET seen_stamp = min(seen_stamp, :stamp - 2)
WHERE document IN (SELECT id FROM document WHERE site = :site);

UPDATE url SET seen_stamp = min(seen_stamp, :stamp - 2), lost_stamp = min(lost_stamp, :stamp - 1)
WHERE site = :site AND (seen_stamp > :stamp - 2 OR lost_stamp > :stamp - 1);

UPDATE page SET since = min(since, :stamp / 1e9), dead_at = iif(dead_at > :stamp / 1e9, NULL, dead_at),
    due = iif(asked_at > :stamp / 1e9, due - asked_at + :stamp / 1e9, min(due, :stamp / 1e9)),
    asked_at = min(asked_at, :stamp / 1e9)
WHERE site = :site AND (since > :stamp / 1e9 OR asked_at > :stamp / 1e9)
