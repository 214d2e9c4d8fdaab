import { systemClock, systemRandom } from '../clock/system.ts'
import { offTexts } from '../config/availability.ts'
import { loadConfig } from '../config/load.ts'
import { assertSafeEnvironment } from '../http/egress.ts'
import { checkDatabase } from './check/database.ts'
import type { Finding } from './check/finding.ts'
import { checkProvider } from './check/provider.ts'
import { CommandError } from './cli/exit.ts'
import { textTable } from './cli/output.ts'
import { contents } from './validate.ts'
import { openDatabase } from './wiring/database.ts'

interface CheckOptions {
  readonly config: string
  readonly json?: boolean
}

/** Tries the database and the credentials of every app, and changes no data. Throws when anything fails. */
export async function check(options: CheckOptions): Promise<void> {
  assertSafeEnvironment(process.env)
  const config = await loadConfig(options.config, { env: process.env })
  const database = await openDatabase(config, { clock: systemClock, whenOwned: 'join' })
  try {
    const stored = await checkDatabase(config, database.url)
    const databaseUrl = stored.every(({ result }) => result !== 'failed') ? database.url : undefined
    const findings: readonly Finding[] = [
      { subject: 'configuration', result: 'ok', text: contents(config) },
      ...config.warnings.map(text => ({ subject: 'configuration', result: 'warning', text }) as const),
      ...offTexts(config).map(text => ({ subject: 'configuration', result: 'ok', text }) as const),
      ...stored,
      ...(await checkProvider(config, { clock: systemClock, random: systemRandom, databaseUrl })),
    ]
    tell(findings, options.json ? 'json' : 'text')
  } finally {
    await database.stop()
  }
}

function tell(findings: readonly Finding[], format: 'json' | 'text'): void {
  const failed = findings.filter(({ result }) => result === 'failed').length
  if (format === 'json') {
    process.stdout.write(`${JSON.stringify({ ok: failed === 0, checks: findings })}\n`)
  } else {
    const rows = findings.map(({ subject, result, text }) => [subject, result, text])
    for (const line of textTable(['what', 'result', 'why'], rows)) process.stdout.write(`${line}\n`)
  }
  if (failed > 0) throw new CommandError(`${failed} of ${findings.length} checks failed`)
}
