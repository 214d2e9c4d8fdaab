import { measures } from '../call-quality/worst.ts'
import { series, timeline } from '../panels.ts'
import { type Query, sqlSeries, sqlTable } from '../sources.ts'
import { table } from '../tables.ts'
import { chosen, chosenApp } from './queries.ts'

const third = { width: 8, height: 8, min: 0, interval: '10s', none: 'nothing was measured in this time' }

/** A line of means for each metric of the sessions, over all users of the calls. */
function meansOf(lines: Readonly<Record<string, number>>): Query {
  const values = Object.entries(lines).map(
    ([name, mid]) => `avg(m.value) filter (where m.mid = ${mid}) as "${name}"`,
  )
  return sqlSeries(`
select $__timeGroupAlias(m.at, '$__interval'), ${values.join(', ')}
from analytics.session_metric m
where m.app_id = ${chosenApp} and m.call_id in (select c.call_id from analytics.class_call c where ${chosen('c')}) and $__timeFilter(m.at)
  and m.mid in (${Object.values(lines).join(', ')})
group by 1 order by 1`)
}

/** How well the class could be heard and seen, on the same axis as what happened in it. */
export const quality = {
  title: 'Its calls',
  panels: [
    series({
      ...third,
      title: 'Freeze time',
      description:
        'Milliseconds that the rendering stood still within two seconds, mean of all users. From 200 ms on it is felt.',
      unit: 'ms',
      queries: [meansOf({ audio: 20005, video: 20011 })],
      steps: ['green', [200, 'red']],
    }),
    series({
      ...third,
      title: 'Packet loss',
      description: 'Packets that were lost from end to end, mean of all users. From 10 % on it is felt.',
      unit: 'percent',
      queries: [meansOf({ audio: 20016, video: 20018 })],
      steps: ['green', [10, 'red']],
    }),
    series({
      ...third,
      title: 'Round trip',
      description:
        'Time to the nearest router of the provider and back, mean of all users. From 400 ms on people interrupt each other.',
      unit: 'ms',
      queries: [meansOf({ 'round trip': 20022 })],
      steps: ['green', [400, 'red']],
    }),
    table({
      title: 'Stays in the calls',
      description:
        'Every stay of every user, the worst first, with what they sat at. One user far worse than the others has a bad connection; all alike is the call.',
      unit: 'none',
      none: 'the sessions of its calls are not known',
      width: 24,
      height: 9,
      queries: [
        sqlTable(`
select s.uid as "User", s.network as "Network", s.platform as "Platform", s.device_type as "Device", s.joined_at as "Joined", s.left_at as "Left",
       s.bad_samples::double precision / nullif(s.samples, 0) as "Bad", s.audio_freeze_avg_ms as "Audio freeze", s.video_freeze_avg_ms as "Video freeze",
       s.audio_loss_avg_pct as "Audio loss", s.video_loss_avg_pct as "Video loss", s.rtt_avg_ms as "Round trip"
from analytics.class_call c join analytics.session_quality s using (app_id, call_id)
where ${chosen('c')}
order by "Bad" desc nulls last, s.joined_at limit 200`),
      ],
      columns: measures,
    }),
  ],
}

/** What a player is called: its name, or else the beginning of its ID. */
const label = 'coalesce(p.name, left(p.player_id, 8))'

/** What was played into the class. */
export const screens = {
  title: 'Its cloud players',
  panels: [
    timeline({
      title: 'Status of the players',
      description:
        'How the status of each player changed, as far as lists showed it. Good is running until it is destroyed; failed is bad, and running on after the class costs money.',
      unit: 'none',
      none: 'nothing was played into this class',
      width: 12,
      height: 7,
      queries: [
        sqlSeries(`
select h.changed_at as time, ${label} as metric,
       max(array_position(array['idle', 'connecting', 'running', 'failed', 'destroyed'], h.to_status)) as value
from players.class_player p join players.cloud_player_change h using (app_id, player_id)
where ${chosen('p')}
group by 1, 2 order by 1`),
      ],
      words: {
        1: { text: 'idle', color: 'yellow' },
        2: { text: 'connecting', color: 'blue' },
        3: { text: 'running', color: 'green' },
        4: { text: 'failed', color: 'red' },
        5: { text: 'destroyed', color: 'transparent' },
      },
    }),
    table({
      title: 'Players',
      description:
        'What was played into the class, and what became of it. One that still runs after the class costs money.',
      unit: 'none',
      none: 'nothing was played into this class',
      width: 12,
      height: 7,
      queries: [
        sqlTable(`
select ${label} as "Player", status as "Status", created_at as "Created", destroyed_at as "Gone", stream_url as "Plays"
from players.class_player p where ${chosen('p')} order by created_at`),
      ],
      columns: {
        Status: {
          words: {
            idle: { text: 'idle', color: 'yellow' },
            connecting: { text: 'connecting', color: 'blue' },
            running: { text: 'running', color: 'green' },
            failed: { text: 'failed', color: 'red' },
            destroyed: { text: 'destroyed', color: 'text' },
          },
        },
      },
    }),
  ],
}
