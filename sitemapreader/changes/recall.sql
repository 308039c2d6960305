-- A clock was ahead: what the future has seen is as old as the moment before this run. A reading
-- becomes one of before a loss, so that it proves nothing about it.
UPDATE site SET run = min(run, :now - 2), read_run = min(read_run, :now - 2), confirmed_run = min(confirmed_run, :now - 2),
    looked_run = min(looked_run, :now - 2),
    days = (SELECT json_group_array(value) FROM json_each(days) WHERE value < :now)
WHERE id = :site;

UPDATE document SET seen_run = min(seen_run, :now - 2), read_run = min(read_run, :now - 2),
    confirmed_run = min(confirmed_run, :now - 2), missing_run = min(missing_run, :now - 1)
WHERE site = :site;

UPDATE url SET seen_run = min(seen_run, :now - 2), lost_run = min(lost_run, :now - 1)
WHERE site = :site AND (seen_run > :now - 2 OR lost_run > :now - 1);

UPDATE page SET since = min(since, :now / 1e9), dead_at = iif(dead_at > :now / 1e9, NULL, dead_at),
    due = iif(asked_at > :now / 1e9, due - asked_at + :now / 1e9, min(due, :now / 1e9)),
    asked_at = min(asked_at, :now / 1e9)
WHERE site = :site AND (since > :now / 1e9 OR asked_at > :now / 1e9)
