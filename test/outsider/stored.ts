import pg from 'pg'

/** What the tables hold of an app, as lists of values. */

const room = 'room_uuid, '
const logged = `${room} sequence::text, `
const ms = (column: string) => `floor(extract(epoch from ${column}) * 1000)`
const s = (column: string) => `extract(epoch from ${column})`

/** Whether a field that has no column is kept beside those that have one. */
function keeps(extra: string, field: string): string {
  return `coalesce(${extra}::text like '%${field}%', false)`
}

const measured = `${keeps("(to_jsonb(t) -> 'extra')", 'samples')}, ${s('at')}, value`

/** Who answers again has a higher ordinal; how much higher is not said. */
const nth = (question: string) =>
  `row_number() over (partition by room_uuid, ${question}, user_uuid order by ordinal) - 1`

const columns: Readonly<Record<string, string>> = {
  room: `${room} incarnation, state, forgotten_at is not null`,
  room_event: `${logged} cmd`,
  room_state_change: `${logged} state, ${ms('started_at')}`,
  chat_message: `${logged} user_uuid, user_name, message, type`,
  attendance: `${logged} user_uuid, user_name, action, total`,
  recording_state_change: `${logged} state, record_id`,
  reward: `${logged} user_uuid, changed_reward, total, ${ms('at')}`,
  resource_change: `${logged} resource_uuid, action, resource_name, operator_uuid`,
  stage_change: `${logged} user_uuid, action, is_listed`,
  hand_wave: `${logged} user_uuid, action, is_listed, payload`,
  resource: `${room} resource_uuid, resource_name, url, size, removed_at is not null`,
  recording: `${room} record_id, ${ms('started_at')}, ${ms('ended_at')}`,
  quiz: `${room} quiz_id, items, correct_items, correct_count, selected_count, total_count, average_accuracy, state,
    ${ms('started_at')}`,
  quiz_submission: `${room} quiz_id, user_uuid, ${nth('quiz_id')}, selected_items, is_correct, ${ms('committed_at')}`,
  poll: `${room} poll_id, mode, items::text ~ 'yes.*no.*perhaps', state`,
  poll_submission: `${room} poll_id, user_uuid, ${nth('poll_id')}, select_index,
    ${keeps('extra', 'choice')}`,
  poll_tally: `${room} poll_id, option_index, num, percentage`,
}

const files = `
  select room_uuid, record_id, url from classroom.recording where app_id = $1 and url is not null
  union select room_uuid, record_id, url from classroom.recording_file where app_id = $1`

const queries: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(columns).map(([table, list]) => [
      table,
      row(list, `classroom.${table} where app_id = $1`),
    ]),
  ),
  recording_file: row('room_uuid, record_id, url', `(${files}) f`),
  call: row(
    `call_id, cname, ${s('created_at')}, case when finished then ${s('destroyed_at')} end, finished`,
    'analytics.call where app_id = $1',
  ),
  call_session: row(
    `call_id, sid, uid, network, platform, ${s('joined_at')}, ${s('left_at')}, finished`,
    'analytics.call_session where app_id = $1',
  ),
  session_metric: row(
    `call_id, sid, peer_uid, mid, ${s('at')}, value,
     -- Beside one of its values is enough.
     bool_or(${keeps('extra', 'orbit')}) over (partition by call_id, sid, peer_uid, mid)`,
    'analytics.session_metric where app_id = $1',
  ),
  cloud_player: row(
    `player_id, name, ${s('created_at')}, region, destroyed_at is not null, channel_name,
     stream_url ~ '^rtmp://.*media\\.example\\.com/live', uid, account, status`,
    'players.cloud_player where app_id = $1',
  ),
  orphan_player: row('player_id', `players.orphan_player where app_id = $1 and channel_name like '%-open'`),
  usage_hour: insight('usage', '1h', 'hour'),
  usage_day: insight('usage', '1d', 'day'),
  quality_hour: insight('quality', '1h', 'hour'),
  usage_realtime: row(`metric, cname, '', ${measured}`, `analytics.usage_realtime t where app_id = $1`),
  quality_realtime: row(`metric, cname, uid, ${measured}`, `analytics.quality_realtime t where app_id = $1`),
}

function insight(kind: string, ...words: readonly string[]): string {
  const list = words.map(word => `'${word}'`).join(', ')
  return row(
    `metric, '', '', ${measured}`,
    `analytics.${kind}_insight t where app_id = $1 and granularity in (${list})`,
  )
}

function row(list: string, from: string): string {
  return `select jsonb_build_array(${list}) as row from ${from}`
}

export interface Database {
  rows(table: string, app: string): Promise<readonly unknown[]>
  ask<T extends object>(text: string, values?: readonly unknown[]): Promise<readonly T[]>
  close(): Promise<void>
}

export async function openDatabase(url: string): Promise<Database> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const ask = async <T extends object>(text: string, values: readonly unknown[] = []) =>
    (await client.query<T>(text, [...values])).rows
  return {
    ask,
    rows: async (table, app) =>
      (await ask<{ row: unknown }>(queries[table]!, [app])).map(({ row: it }) => it),
    close: () => client.end(),
  }
}

/** The same for equal values, whatever the order of their members. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, it: unknown) =>
    typeof it === 'object' && it !== null && !Array.isArray(it)
      ? Object.fromEntries(Object.entries(it).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : it,
  )
}
