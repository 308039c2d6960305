-- title: Video and page have the same URL
-- severity: error
-- unit: videos
-- detects: content_loc or player_loc is the URL of the page.
-- meaning: Search engines cannot fetch the video from there.
-- advice: Write the URL of the video file or of the player.
-- source: https://support.google.com/webmasters/answer/7451001
-- search-console: Video location and play page location are the same
SELECT u.loc AS url,
       CASE WHEN v.content_loc IN (u.loc, u.key) THEN 'content_loc' ELSE 'player_loc' END AS detail,
       u.document
FROM video v JOIN url u ON u.id = v.url
WHERE v.content_loc IN (u.loc, u.key) OR v.player_loc IN (u.loc, u.key)
