import { loadConfig } from '../config/load.ts'
import type { EngineSettings } from '../engine/settings.ts'
import { type Audit, type AuditedLimit, auditLedger, type GroupEvidence } from '../postgres/audit.ts'
import { strictest } from '../provider/limits.ts'
import { countOf, countText, isRefusal } from '../telemetry/wording.ts'
import { CommandError } from './cli/exit.ts'
import type { ReportOptions } from './cli/options.ts'
import { printLines, textTable, windowText } from './cli/output.ts'
import { engineSettings } from './engine-settings.ts'
import { withDatabase } from './wiring/database.ts'

/** Counts again whether any request that was ever debited broke a limit. Throws when one did. */
export async function audit(options: ReportOptions): Promise<void> {
  const config = await loadConfig(options.config, { env: process.env })
  const limits = limitsOf(engineSettings(config))
  const found = await withDatabase(config, { isPrepared: true, isReading: true, role: '' }, pool =>
    auditLedger(pool, limits, isRefusal),
  )
  tell(found, options.json ? 'json' : 'text')
}

/** The rates of every group that is counted in the database; of apps that share a counter the strictest. */
export function limitsOf({ apps }: Pick<EngineSettings, 'apps'>): readonly AuditedLimit[] {
  const found = new Map<string, AuditedLimit>()
  for (const app of apps) {
    const all = [app, ...app.regions].flatMap(({ limits }) => Object.entries(limits))
    for (const [group, { scope, rates, counted }] of all) {
      if (counted !== 'ledger') continue
      const key = JSON.stringify([scope, group])
      found.set(key, { scope, group, rates: strictest([...(found.get(key)?.rates ?? []), ...rates]) })
    }
  }
  return [...found.values()]
}

function tell(found: Audit, format: 'json' | 'text'): void {
  const broken = found.groups.filter(isBroken)
  printLines(format === 'json' ? [JSON.stringify({ ok: broken.length === 0, ...found })] : auditLines(found))
  if (broken.length > 0) {
    const names = broken.map(({ scope, group }) => `${group} of ${scope}`).join(', ')
    throw new CommandError(`the ledger does not show that every limit was kept: ${names}`)
  }
}

function isBroken({ verdict }: GroupEvidence): boolean {
  return verdict === 'broken' || verdict === 'incomplete'
}

/** The audit for people. */
export function auditLines({ evidenceSince, groups, refusals }: Audit): readonly string[] {
  if (evidenceSince === null) return ['the ledger is empty: nothing that is counted has been asked for yet']
  const rows = groups.flatMap(each => {
    const { scope, group, debits, assumed, verdict } = each
    const name = [scope, group, debits, assumed || null] as const
    if (each.windows.length === 0) return [[...name, null, null, null, null, verdict]]
    return each.windows.map(({ window, limit, most, fullestDay, ...found }) => {
      const said = verdict === 'incomplete' ? `${countText(each.missing)} debits are missing` : found.verdict
      return [...name, windowText(window), limit, most, fullestDay, said]
    })
  })
  const header = [
    'counter',
    'limit group',
    'requests',
    'assumed',
    'within',
    'limit',
    'most',
    'most in a UTC day',
    '',
  ]
  const purposes = groups.flatMap(({ scope, group, purposes, unsettled, from, to }) => {
    const { live, repair, revisit, backfill } = purposes
    return [[scope, group, live, repair, revisit, backfill, unsettled || null, from, to]]
  })
  return [
    `evidence since ${evidenceSince}`,
    '',
    ...textTable(header, rows),
    '',
    ...textTable(
      ['counter', 'limit group', 'live', 'repair', 'revisit', 'backfill', 'no answer', 'from', 'to'],
      purposes,
    ),
    '',
    `${groups.some(isBroken) ? 'a limit may have been broken' : 'no request broke a limit'}${refusalText(refusals)}`,
  ]
}

/** Who refuses has other limits than the configuration, or counts others' requests too. */
function refusalText(refusals: Audit['refusals']): string {
  if (refusals.length === 0) return ''
  const counts = new Map<string, number>()
  for (const { reason, letters } of refusals) counts.set(reason, (counts.get(reason) ?? 0) + letters)
  const all = [...counts.values()].reduce((sum, each) => sum + each, 0)
  const kinds = [...counts].map(([reason, count]) => `${reason} ${countText(count)}`).join(', ')
  const [last] = refusals.map(({ lastSeen }) => lastSeen).toSorted((a, b) => b.localeCompare(a))
  return ` as it is configured, yet the provider refused ${countOf(all, 'request')} for one (${kinds}), the last at ${last}: correct \`plan\` or \`limits\`, or see who else uses the credential`
}
