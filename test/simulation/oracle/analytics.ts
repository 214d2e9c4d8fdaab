import { examineComplete } from './analytics-complete.ts'
import { examineGaps } from './analytics-gaps.ts'
import { examineCallGaps } from './call-gaps.ts'
import { examineCalls } from './calls.ts'
import { examineDebits } from './debits.ts'
import type { Examination, Finding } from './examination.ts'
import { examineHeavy } from './heavy.ts'
import { examineInsights } from './insights.ts'
import { examineLimits } from './limits.ts'
import { examineMeasured } from './measured.ts'
import { examineOwed } from './owed.ts'
import { examineRealtime } from './realtime.ts'
import { examineSelection } from './selection.ts'
import { withoutServers } from './servers.ts'
import { examineSessions } from './sessions.ts'
import { examineStrangeEntries } from './strange-entries.ts'

const subjects = [
  ...[examineLimits, examineDebits, examineSessions, examineMeasured],
  ...[
    examineSelection,
    examineInsights,
    examineRealtime,
    examineStrangeEntries,
    examineGaps,
    examineCallGaps,
    examineOwed,
    examineHeavy,
    examineComplete,
  ],
]

/** All that is judged of call analytics, of limits and of debits. */
export async function examineAnalytics(examination: Examination): Promise<readonly Finding[]> {
  const findings: Finding[] = [...(await examineCalls(examination))]
  const ofWanted = examination.withoutServers ? withoutServers(examination) : examination
  for (const examine of subjects) findings.push(...(await examine(ofWanted)))
  return findings
}
