import { Registry } from 'prom-client'
import { platforms } from '../embedded-postgres/src/platforms.ts'
import { commitStatements } from '../src/postgres/commit/commit.ts'
import { emptyAnswers } from '../src/postgres/commit/empty-answers.ts'
import { groupStatements } from '../src/postgres/commit/group-statements.ts'
import type { Statement } from '../src/postgres/statement.ts'
import { type AnalyticsGroup, analyticsGroups, analyticsLimits } from '../src/provider/analytics/index.ts'
import type { Rate } from '../src/provider/limits.ts'
import { playerGroups, playerRates } from '../src/provider/players/index.ts'
import { formatDuration } from '../src/settings/values.ts'
import { streams } from '../src/streams/index.ts'
import { createInstruments } from '../src/telemetry/instruments.ts'
import { configReference, jsonSchemaText } from './config-reference.ts'
import { dashboardTexts } from './dashboards/index.ts'
import { helmReadmeText } from './helm-readme.ts'
import { helmKeysText, helmValuesSchemaText } from './helm-values.ts'

/** Every generated file of the repository, by its path. */
export async function references(): Promise<Readonly<Record<string, string>>> {
  return {
    'config/penstock.schema.json': jsonSchemaText(),
    'docs/configuration.md': page('Configuration', configurationText()),
    'docs/metrics.md': page('Metrics', await metricsText()),
    'docs/platforms.md': page('Platforms', platformsText()),
    'docs/streams.md': page('Streams', streamsText()),
    ...commitTexts(),
    ...dashboardTexts(),
    'helm/penstock/README.md': await helmReadmeText(),
    'helm/penstock/templates/_keys.tpl': await helmKeysText(),
    'helm/penstock/values.schema.json': await helmValuesSchemaText(),
  }
}

function platformsText(): string {
  const rows = platforms.map(
    ({ name, postgres, node, isTried }) =>
      `| ${name} | \`${postgres}\` | \`${node}\` | ${isTried ? 'tests run there' : 'untried: the packages are there, and nobody has run it'} |`,
  )
  return `\`npm start\` and \`npm test\` need npm alone where npm has a Postgres and a Node for the machine:

| machine | Postgres | Node | |
|---|---|---|---|
${rows.join('\n')}

Anywhere else the program runs on Node 22.19 or newer with a Postgres of your own (\`database.url\`); the demo needs the
embedded one. The image is for Linux. On macOS the Node of the package is somewhat older than on Linux; where another is
installed, \`node bin/penstock.mjs demo\` uses that.`
}

function page(title: string, text: string): string {
  return `# ${title}\n\n<!-- Made by npm run generate; edit the code instead. -->\n\n${text}\n`
}

function configurationText(): string {
  return `The file is YAML. Any value may be, or hold, \`\${NAME}\` or \`\${NAME:-default}\`. A key that is not in this
table is refused. [penstock.example.yaml](../config/penstock.example.yaml) shows every key with its default.

${configReference()}`
}

async function metricsText(): Promise<string> {
  const registry = new Registry()
  createInstruments(registry)
  const metrics = await registry.getMetricsAsArray()
  const rows = metrics.map(metric => {
    const { labelNames = [] } = metric as unknown as { readonly labelNames?: readonly string[] }
    return `| ${metric.name} | ${String(metric.type)} | ${labelNames.join(', ')} | ${metric.help} |`
  })
  return `Served at /metrics. No label holds a room or a user. The default metrics of the process (process_*, nodejs_*)
come besides.

| metric | type | labels | meaning |
|---|---|---|---|
${rows.join('\n')}`
}

const streamKinds = `Kinds: a feed tells what is new in an app; a log is read page after page, in each room; a snapshot is a list
that is read again and again; a window is a range of time; a substream is a work queue that another stream fills.
What Postgres is given to commit a page of a stream stands in [sql/](sql/).`

function streamsText(): string {
  const rows = Object.values(streams).map(
    ({ name, kind, operation, title, writes, needs = [] }) =>
      `| ${name} | ${kind} | ${operation.family}.${operation.name} | ${operation.limitGroup} | ${needs.join(', ')} | ${writes.map(table => table.name).join(', ')} | ${title} |`,
  )
  return `${streamKinds}

| stream | kind | operation | limit group | needs | writes | what it brings |
|---|---|---|---|---|---|---|
${rows.join('\n')}

## What the plans allow

As documented; \`limits\` in the configuration overrides any number. A plan that is not listed has no access. All bounds are
strict: a range must be shorter than the time frame, begin later than the available data and end earlier than the data delay.

| limit group | plan | requests | available data | time frame | data delay |
|---|---|---|---|---|---|
${analyticsGroups.flatMap(planRows).join('\n')}

Cloud players are limited alike in every plan. The documents do not say what their second limits of Create and List are
for: unless \`provider.players.limits\` is \`split\`, only those of players-create and players-list are used, for all of them.

| limit group | requests |
|---|---|
${playerGroups.map(group => `| ${group} | ${playerRates[group].map(rateText).join(', ')} |`).join('\n')}`
}

function planRows(group: AnalyticsGroup): readonly string[] {
  return Object.entries(analyticsLimits[group]).map(
    ([plan, { rates, availableData, timeFrame, dataDelay }]) => {
      const [past, longest, old] = [availableData, timeFrame, dataDelay].map(seconds =>
        formatDuration(seconds * 1_000),
      )
      return `| ${group} | ${plan} | ${rates.map(rateText).join(', ')} | ${past} | ${longest} | ${old} |`
    },
  )
}

function rateText({ requests, window }: Rate): string {
  const unit = { 1: 'second', 60: 'minute', 86400: 'day' }[window] ?? formatDuration(window * 1_000)
  return `${requests} a ${unit}`
}

/** The statements that commit a page of each stream, as Postgres is given them, with the names of their parameters. */
function commitTexts(): Readonly<Record<string, string>> {
  const file = (name: string, about: string, statements: readonly Statement[]) => {
    const head = `-- Made by npm run generate; edit the code instead. ${about}\n`
    return [`docs/sql/${name}.sql`, [head, ...statements.map(textOf)].join('\n')] as const
  }
  const ofStreams = Object.values(streams).map(stream => {
    const { whole, slice } = commitStatements(stream)
    return file(stream.name, `Commits a page of ${stream.name}.`, [whole, ...(slice ? [slice] : [])])
  })
  const about =
    'Commits pages of many rooms together, one statement after the other in one transaction; what is new is copied.'
  const nothing =
    'Commits answers of feeds, lists and widget logs that told nothing, of all apps and rooms together.'
  return Object.fromEntries([
    ...ofStreams,
    file('group', about, groupStatements),
    file('empty-answers', nothing, [emptyAnswers]),
  ])
}

function textOf({ name, text, order }: Statement): string {
  const named = text.replace(/\$(\d+)/g, (_, place: string) => `:${order[Number(place) - 1]}`)
  return `-- ${name}\n${named.trim()};\n`
}
