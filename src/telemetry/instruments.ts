import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const requestSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const commitSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Name, sentence and labels of a metric. */
type Facts = readonly [name: string, help: string, labels?: readonly string[], buckets?: readonly number[]]

const counters = {
  requests: [
    'requests_total',
    'Requests sent to the provider, by how they ended',
    ['app', 'family', 'operation', 'outcome'],
  ],
  unframed: [
    'unframed_answers_total',
    'Answers whose only end was the end of their connection, so that a cut would go unseen',
    ['family', 'operation'],
  ],
  refusals: [
    'refusals_total',
    'Requests that the provider turned away for their credentials, rate, range or plan; should stay 0',
    ['operation', 'kind'],
  ],
  debits: ['debits_total', 'Requests debited durably before they were sent', ['limit_group']],
  pages: ['pages_total', 'Pages, by what became of them', ['stream', 'outcome']],
  rows: ['rows_total', 'Rows written; of analytics.session_series each value', ['table']],
  deadLetters: [
    'dead_letters_total',
    'Items and bodies set aside because they could not be read',
    ['stream', 'reason'],
  ],
  ignored: [
    'ignored_values_total',
    'Values that nobody asked for and that were not stored: of a channel, in an answer about users of it, or of times outside of what was asked',
    ['stream'],
  ],
  divergences: [
    'divergences_total',
    'Items that came again under the same key with another content',
    ['stream'],
  ],
  notifications: [
    'notifications_total',
    'Notifications of players that arrived, by what became of them',
    ['app', 'outcome'],
  ],
  connectionsRefused: [
    'connections_refused_total',
    'Connections closed because a listener had as many as it takes; those go first whose request is not whole',
    ['listener'],
  ],
  configReloads: [
    'config_reloads_total',
    'Times that the file of the configuration was read again: applied, unchanged, refused because it is wrong, waiting for SIGHUP because it takes apps away',
    ['outcome'],
  ],
} as const satisfies Readonly<Record<string, Facts>>

const gauges = {
  due: ['due_series', 'Series whose next sync is due', ['app', 'stream']],
  lag: ['lag_seconds', 'How late the latest sync is that is due, in seconds', ['app', 'stream']],
  lastSuccess: [
    'last_success_timestamp_seconds',
    'When a page of the stream was last committed, in seconds since the epoch',
    ['stream'],
  ],
  backlog: [
    'backlog_seconds',
    'Seconds of data that are available and not read yet, or not final, over all series',
    ['app', 'stream'],
  ],
  backlogExpires: [
    'backlog_expires_seconds',
    'Until the oldest of the backlog can no longer be had, in seconds; absent while there is none',
    ['app', 'stream'],
  ],
  budgetUsed: [
    'budget_used_ratio',
    'Share of the requests of a limit group that count in its longest window; the highest of all credentials',
    ['group', 'window'],
  ],
  budgetPace: [
    'budget_pace_ratio',
    'How many times as fast as evenly over its longest window a limit group was spent of late, by whoever shares the budget; the highest of all credentials',
    ['group'],
  ],
  expectedLoss: [
    'expected_loss_ratio',
    'Share of the details of calls that cannot be had before they expire, as calls begin and the budget allows now; the highest of all apps',
    ['group'],
  ],
  callQuality: [
    'call_quality',
    'Latest final real-time value of a quality metric, of the whole project',
    ['app', 'product', 'metric'],
  ],
  callQualityAge: [
    'call_quality_age_seconds',
    'Age of the value in call_quality: since the end of the window that it stands for, in seconds; where none has come yet, since it is asked for',
    ['app', 'product', 'metric'],
  ],
  clockDoubt: [
    'clock_doubt_seconds',
    'How far the clock of the database jumped against what this process saw pass, in seconds; 0 while it is believed',
  ],
  defaultRows: [
    'default_partition_rows',
    'Rows in the default partition of a table that belong to one of their own, counted up to 100,000; should stay 0',
    ['table'],
  ],
  gaps: ['gaps', 'Rows of the gap ledger', ['stream', 'state']],
  recentLosses: [
    'recent_losses',
    'Rows of the gap ledger that were given up, or have grown since, within the last hour or day',
    ['stream', 'window'],
  ],
  rooms: ['rooms', 'Rooms known', ['state']],
  players: ['players', 'Cloud players that live, as they were listed last', ['app', 'status']],
  orphanPlayers: [
    'orphan_players',
    'Cloud players that play, or are about to, where no class and no call goes on',
    ['app'],
  ],
  verdict: [
    'verdict',
    'How it goes, as the page and penstock status say: 1 for the state that holds (well, starting, behind, losing, stopped), 0 for the others',
    ['state'],
  ],
  configInForce: [
    'config_in_force',
    'Whether the daemon runs with what the file of the configuration says: 1, or 0 where that is wrong, waits for SIGHUP or needs a restart',
  ],
  longestPause: [
    'longest_pause_seconds',
    'Of a stream that is asked at the moments of a cron expression, or a list every so often that silence is no trouble, the longest time between two requests; no series where it is asked at shorter intervals',
    ['stream'],
  ],
  shardsOwned: [
    'shards_owned',
    'Shards of apps that this process owns; 0 where it could not renew them for ten seconds',
  ],
  databaseUp: [
    'database_up',
    'Whether the database answered the last time it was asked, and takes rows: 1 or 0',
  ],
  figuresAge: [
    'database_figures_age_seconds',
    'How old the figures are that the database told last (gaps, losses, rooms, players), or for how long it has told none; more than a minute where reading them takes it too long',
  ],
  eventLoopLag: [
    'event_loop_lag_seconds',
    'How late the event loop turned since the last scrape (99th percentile), in seconds',
  ],
  buildInfo: ['build_info', 'Always 1; what runs here is in the labels', ['version', 'node']],
} as const satisfies Readonly<Record<string, Facts>>

const histograms = {
  requestSeconds: [
    'request_seconds',
    'Time from a request to the last byte of its answer, in seconds',
    ['family', 'operation'],
    requestSeconds,
  ],
  commitSeconds: ['commit_seconds', 'Time that the commit of a page took, in seconds', [], commitSeconds],
} as const satisfies Readonly<Record<string, Facts>>

type LabelsOf<F> = F extends readonly [string, string, readonly (infer L extends string)[], ...unknown[]]
  ? L
  : never

export type Instruments = {
  readonly [N in keyof typeof counters]: Counter<LabelsOf<(typeof counters)[N]>>
} & {
  readonly [N in keyof typeof gauges]: Gauge<LabelsOf<(typeof gauges)[N]>>
} & { readonly [N in keyof typeof histograms]: Histogram<LabelsOf<(typeof histograms)[N]>> }

/** Every metric of the daemon: its name, its sentence, its labels. No label ever holds a room or a user. */
export function createInstruments(registry: Registry): Instruments {
  const made = (
    facts: Readonly<Record<string, Facts>>,
    Kind: typeof Counter | typeof Gauge | typeof Histogram,
  ) =>
    Object.entries(facts).map(([key, [name, help, labelNames = [], buckets = []]]) => {
      const options = { name: `penstock_${name}`, help, labelNames: [...labelNames], buckets: [...buckets] }
      return [key, new Kind({ ...options, registers: [registry] })]
    })
  const all = [...made(counters, Counter), ...made(gauges, Gauge), ...made(histograms, Histogram)]
  return Object.fromEntries(all) as Instruments
}

/** Stands for every value beyond the cap of a label. */
const otherLabel = 'other'

const longestLabel = 64

/** The label that stands for a value. */
export type Label = (value: string) => string

/** Stands for all apps without series of their own. */
export const otherApps = 'others'

/** Which apps have series of their own. Who has them keeps them until the process ends, so that no series breaks off. */
export type AppLabels = ReturnType<typeof appLabels>

/** The first `cap` apps have series of their own; `more` others may come by them later. */
export function appLabels(apps: readonly string[], cap: number, more: number) {
  let known: ReadonlySet<string> = new Set(apps)
  const labels = new Map(apps.slice(0, cap).map(app => [app, safeLabel(app)]))
  const most = () => Math.min(cap, known.size) + more
  return {
    of: (app: string) => labels.get(app) ?? otherApps,
    isKnown: ({ app }: { readonly app: string }) => known.has(app),
    /** Gives series of their own to apps in trouble, as long as there are places. */
    single: (apps: readonly string[]) => {
      for (const app of apps) if (labels.size < most() && known.has(app)) labels.set(app, safeLabel(app))
    },
    /** Knows these apps from now on; those that have series keep them. */
    know: (apps: readonly string[]) => {
      known = new Set(apps)
      for (const app of apps) if (labels.size < cap) labels.set(app, safeLabel(app))
    },
  }
}

/** Gives the values of a closed set as they are, and any other as one. */
export function closedLabel(values: readonly string[]): Label {
  const known = new Set(values)
  return value => (known.has(value) ? value : otherLabel)
}

/** The exposition format escapes quotes and line ends, but lets NUL and lone surrogates through as they are. */
function safeLabel(value: string): string {
  return value.slice(0, longestLabel).replace(/[^\x20-\x7e]/g, '?')
}
