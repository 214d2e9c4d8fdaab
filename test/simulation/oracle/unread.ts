import { askedOf } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

interface Told {
  readonly key: string
  readonly users: number | null
  readonly sessions: number | null
}

/** Of a call about whose sessions nobody was answered yet nobody can say how many were in it: that is not none. */
export async function examineUnread(examination: Examination): Promise<readonly Finding[]> {
  const told = await examination.rows<Told>(
    `select q.app_id || ' ' || q.call_id as key, q.users, q.sessions from analytics.call_quality q
     where (q.users is not null or q.sessions is not null)
       and not exists (select from analytics.call_session s where s.app_id = q.app_id and s.call_id = q.call_id)`,
  )
  const answered = new Set(
    askedOf(examination)
      .filter(({ operation, answer }) => operation === 'callSessions' && answer === 'served')
      .map(({ app, query }) => `${app} ${query.get('call_id')}`),
  )
  return told
    .filter(({ key }) => !answered.has(key))
    .map(({ key, users, sessions }) => {
      const text = `call_quality: ${key} has ${users} users and ${sessions} stays, and nobody was told of any`
      return { kind: 'different', text }
    })
}
