import type pg from 'pg'

/** A mistake that somebody could make in a view. */
export interface ViewMutant {
  readonly view: string
  /** As Postgres writes the view's definition. */
  readonly from: string
  readonly to: string
  readonly mistake: string
}

/** Runs some work while the mistake is made, and takes it back. Throws where the view has nothing to mistake. */
export async function whileMistaken<T>(
  client: pg.Client,
  { view, from, to }: ViewMutant,
  work: () => Promise<T>,
): Promise<T> {
  await client.query('begin')
  try {
    const { rows } = await client.query<{ text: string }>('select pg_get_viewdef($1::regclass) as text', [
      view,
    ])
    const [{ text }] = rows as [{ text: string }]
    if (!text.includes(from)) throw new Error(`${view} does not say ${from}: ${text}`)
    await client.query(`create or replace view ${view} as ${text.replaceAll(from, to)}`)
    return await work()
  } finally {
    await client.query('rollback')
  }
}

export const mutants: readonly ViewMutant[] = [
  {
    mistake: 'teachers count as students',
    ...{
      view: 'classroom.class',
      from: `bool_and(classroom.is_student(a.role)) FILTER (WHERE (TRIM(BOTH FROM a.role) <> ''::text))`,
      to: 'true',
    },
  },
  {
    mistake: 'hands that are lowered count too',
    ...{ view: 'classroom.class', from: `(h.action = 'add'::text)`, to: 'true' },
  },
  {
    mistake: 'whoever comes back is late',
    ...{ view: 'classroom.late_arrival', from: 'e.sequence, e.ordinal', to: 'e.sequence DESC, e.ordinal' },
  },
  {
    mistake: 'late begins a minute too late',
    ...{ view: 'classroom.late_arrival', from: '00:05:00', to: '00:06:30' },
  },
  {
    mistake: 'the first half is a third',
    ...{ view: 'classroom.attention', from: '/ (2)::double precision', to: '/ (3)::double precision' },
  },
  {
    mistake: 'who leaves at the end stays in the count',
    ...{ view: 'classroom.head_count', from: `'-1'::integer`, to: '0' },
  },
  {
    mistake: 'stays are cut to whole minutes',
    ...{
      view: 'classroom.participation',
      from: 'EXTRACT(epoch FROM i.stayed)',
      to: `EXTRACT(epoch FROM date_trunc('minute', i.stayed))`,
    },
  },
  {
    mistake: 'the first answer counts instead of the last',
    ...{ view: 'classroom.quiz_result', from: 'x.ordinal DESC', to: 'x.ordinal' },
  },
  {
    mistake: 'accuracy is of those who were asked',
    ...{ view: 'classroom.quiz_accuracy', from: 'NULLIF(sum(answered), 0)', to: 'NULLIF(sum(asked), 0)' },
  },
  {
    mistake: 'options are counted from 1',
    ...{ view: 'classroom.poll_result', from: '(o.option_index)::text', to: '(o.option_index + 1)::text' },
  },
  {
    mistake: 'the calls of a class are those of the class before',
    ...{
      view: 'analytics.class_quality',
      from: 'c.incarnation,',
      to: '(c.incarnation + 1) AS incarnation,',
    },
  },
  {
    mistake: 'the calls of former days are of the first class that was seen',
    ...{ view: 'analytics.class_call', from: `'00:15:00'::interval`, to: `'9 days'::interval` },
  },
  {
    mistake: 'what plays since a former day is of the first class that was seen',
    ...{ view: 'players.class_player', from: `'00:15:00'::interval`, to: `'9 days'::interval` },
  },
  {
    mistake: 'the calls of a class that nobody saw are of the one before',
    ...{ view: 'analytics.class_call', from: `'01:00:00'::interval`, to: `'07:00:00'::interval` },
  },
  {
    mistake: 'every value is a freeze',
    ...{
      view: 'analytics.session_quality',
      from: 'COALESCE(q.freezes, 0)',
      to: 'COALESCE(q.freeze_samples, 0)',
    },
  },
  {
    mistake: 'half of the freezes are left out',
    ...{
      view: 'analytics.session_quality',
      from: 'COALESCE(q.freezes, 0)',
      to: 'COALESCE(q.freezes / 2, 0)',
    },
  },
  {
    mistake: 'only a channel that had a class can have an orphan',
    ...{ view: 'players.orphan_player', from: 'r.state IS DISTINCT FROM 1', to: 'r.state <> 1' },
  },
  {
    mistake: 'a loss begins when it is noticed',
    ...{ view: 'ingest.loss', from: ' range_from,', to: ' first_seen_at AS range_from,' },
  },
  {
    mistake: 'a day has no length',
    ...{
      view: 'ingest.complete_day',
      from: 'tstzrange(d_1.begins_at, d_1.ends_at)',
      to: 'tstzrange(d_1.begins_at, d_1.begins_at)',
    },
  },
  {
    mistake: 'a pause of the feed takes nothing from a day',
    ...{ view: 'ingest.complete_day', from: '(g.gaps = 0)', to: '(g.gaps >= 0)' },
  },
  {
    mistake: 'what nobody can read takes nothing from a class',
    ...{ view: 'classroom.class_complete', from: `'unreadable'::text`, to: 'NULL::text' },
  },
  {
    mistake: 'a class is not whole because its room was used again',
    ...{ view: 'classroom.class_complete', from: '(r.valid_to IS NULL)', to: 'true' },
  },
  {
    mistake: 'the ID of a user is taken for the number in calls',
    ...{ view: 'classroom.user_call', from: 'THEN a.stream_uuid', to: 'THEN a.user_uuid' },
  },
  {
    mistake: 'freezes of the picture are freezes of the sound',
    ...{ view: 'classroom.user_call', from: 'ARRAY[20005, 20016]', to: 'ARRAY[20011, 20016]' },
  },
  {
    mistake: 'who sends sound talks all the time',
    ...{ view: 'classroom.user_call', from: '(q.talk_samples)', to: '(q.volume_samples)' },
  },
  {
    mistake: 'who leaves the room is still there',
    ...{ view: 'classroom.stage_or_hand_interval', from: `(a.action = 'leave'::text)`, to: 'false' },
  },
  {
    mistake: 'each event begins another one',
    ...{ view: 'classroom.stage_or_hand_interval', from: 'c.is_on IS DISTINCT FROM c.was_on', to: 'true' },
  },
  {
    mistake: 'days of attendance are those of UTC',
    ...{ view: 'ingest.class_day', from: 'd.time_zone = z.time_zone', to: `d.time_zone = 'UTC'` },
  },
  {
    mistake: 'a student counts for each class of the week',
    ...{
      view: 'classroom.attendance_by_week',
      from: 'count(DISTINCT u.student)',
      to: 'count(u.student)',
    },
  },
  {
    mistake: 'days are those of UTC wherever the school is',
    ...{ view: 'analytics.usage_by_day', from: 'd.time_zone = a.time_zone', to: `d.time_zone = 'UTC'` },
  },
]
