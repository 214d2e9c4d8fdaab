import type { AppPlan, Distortion, Operation } from './app.ts'
import { reading } from './readings.ts'
import type { Told } from './tell-classroom.ts'

/** Answers that say something which nobody can read for certain: nothing of them may be called complete. */

export interface Riddle {
  readonly name: string
  /** The app that it is put to: riddles share one where neither hides the other. */
  readonly app: string
  readonly stream: string
  /** Tables that need not hold the truth for it. */
  readonly tables: readonly string[]
  readonly distort: Distortion
  /** The list can be read and only its items cannot: whether that is called complete is not judged here. */
  readonly isOfItems: boolean
}

const quizTables = ['quiz', 'quiz_submission']
const pollTables = ['poll', 'poll_submission', 'poll_tally']
const recordingTables = ['recording', 'recording_file']
const details = ['session_metric', 'call_session']

function riddle(
  app: string,
  stream: string,
  operation: Operation,
  name: string,
  tables: readonly string[],
  change: (body: Told, data: Told) => unknown,
): Riddle {
  const distort: Distortion = (asked, body) =>
    asked === operation ? change(body, (body.data ?? {}) as Told) : body
  return { name: `${stream}: ${name}`, isOfItems: name.startsWith('items '), app, stream, tables, distort }
}

const listOf = (data: Told) => (data.list ?? []) as readonly Told[]
const halves = ({ list, ...rest }: Told) => {
  const all = (list ?? []) as readonly Told[]
  return { ...rest, current: all.slice(0, 1), former: all.slice(1) }
}
const insideOut = ({ list, ...rest }: Told) => ({
  ...rest,
  pages: {
    first: Object.fromEntries(((list ?? []) as readonly Told[]).map((each, place) => [`n${place}`, each])),
  },
})

export const riddles: readonly Riddle[] = [
  // What the log says besides the feed is the recording that a stop belongs to.
  riddle('riddles-f', 'room-events', 'log', 'two arrays', ['recording_state_change'], (body, data) => ({
    ...body,
    data: halves(data),
  })),
  riddle('riddles-a', 'popup-quiz', 'quiz', 'two arrays', quizTables, (body, data) => ({
    ...body,
    data: halves(data),
  })),
  riddle('riddles-b', 'popup-quiz', 'quiz', 'items without changes', quizTables, (body, data) => ({
    ...body,
    data: { ...data, list: listOf(data).map(() => ({ something: 'else' })) },
  })),
  riddle('riddles-d', 'popup-quiz', 'quiz', 'an error page of a proxy', quizTables, () => ({ status: 'ok' })),
  riddle('riddles-a', 'poll', 'poll', 'no array', pollTables, (body, data) => ({
    ...body,
    data: insideOut(data),
  })),
  riddle('riddles-b', 'poll', 'poll', 'items as texts', pollTables, (body, data) => ({
    ...body,
    data: { ...data, list: listOf(data).map(each => JSON.stringify(each)) },
  })),
  riddle('riddles-a', 'recordings', 'recordings', 'two arrays', recordingTables, (body, data) => ({
    ...body,
    data: halves(data),
  })),
  riddle(
    'riddles-b',
    'recordings',
    'recordings',
    'items without recordId',
    recordingTables,
    (body, data) => ({
      ...body,
      data: {
        ...data,
        list: listOf(data).map(({ recordId, ...rest }) => ({ ...rest, number: String(recordId) })),
      },
    }),
  ),
  riddle('riddles-a', 'resources', 'resources', 'an object of objects', ['resource'], body => ({
    ...body,
    data: {
      files: Object.fromEntries(((body.data ?? []) as readonly Told[]).map((each, n) => [`f${n}`, each])),
    },
  })),
  riddle(
    'riddles-a',
    'calls',
    'calls',
    'calls counted and not listed',
    ['call', ...details],
    ({ call_lists, ...body }) => ({
      ...body,
      total_size: 4,
    }),
  ),
  riddle(
    'riddles-b',
    'calls',
    'calls',
    'an object for the list',
    ['call', ...details],
    ({ call_lists, ...body }) => ({
      ...body,
      call_lists: { first: call_lists },
    }),
  ),
  riddle('riddles-f', 'calls', 'calls', 'calls counted in an empty list', ['call', ...details], body => ({
    ...body,
    total_size: 4,
    call_lists: [],
  })),
  riddle(
    'riddles-c',
    'call-sessions',
    'sessions',
    'an object for the list',
    details,
    ({ call_info, ...body }) => ({
      ...body,
      call_info: { first: call_info },
    }),
  ),
  riddle('riddles-d', 'call-metrics', 'metrics', 'pairs as texts', ['session_metric'], body =>
    changePairs(body, (at, value) => `${at}=${value}`),
  ),
  riddle('riddles-e', 'call-metrics', 'metrics', 'pairs as objects of objects', ['session_metric'], body =>
    changePairs(body, (at, value) => ({ at: { s: at }, is: { v: value } })),
  ),
  riddle(
    'riddles-c',
    'cloud-players',
    'players',
    'players counted and not listed',
    ['cloud_player'],
    ({ players, ...body }) => body,
  ),
  riddle('riddles-a', 'quality-insight', 'quality', 'an object of lists', ['quality_hour'], (body, data) => ({
    ...body,
    data: { Native: data },
  })),
]

/** The apps that the riddles are put to. */
export const riddleApps: readonly AppPlan[] = [...Map.groupBy(riddles, ({ app }) => app)].map(
  ([id, all]) => ({
    id,
    reading: reading(),
    distort: (asked, body) => all.reduce((told, { distort }) => distort(asked, told) as Told, body),
    isUnread: line => all.some(({ tables }) => tables.includes(line.split(' ')[0]!)),
  }),
)

function changePairs(body: Told, change: (at: unknown, value: unknown) => unknown): Told {
  const metrics = body.metrics as readonly { data: readonly { kvs: readonly (readonly unknown[])[] }[] }[]
  return {
    ...body,
    metrics: metrics.map(entry => ({
      ...entry,
      data: entry.data.map(series => ({
        ...series,
        kvs: series.kvs.map(([at, value]) => change(at, value)),
      })),
    })),
  }
}
