import type { AnalyticsTruth, TrueCall } from '../../../sandbox/src/index.ts'
import type { Examination } from './examination.ts'

const isPerson = ({ platform }: TrueCall['sessions'][number]) => platform !== 'Linux'

/** The same in a world as it is for whoever wants nothing of servers among the users of calls. */
export function withoutServers(examination: Examination): Examination {
  const { sandbox } = examination
  const known = new Map<string, AnalyticsTruth>()
  const analytics = (app: string) => {
    const truth = known.get(app) ?? ofPeople(sandbox.analytics(app))
    known.set(app, truth)
    return truth
  }
  return { ...examination, sandbox: { ...sandbox, analytics } }
}

function ofPeople(truth: AnalyticsTruth): AnalyticsTruth {
  const people = new Map<string, ReadonlySet<string>>()
  const peopleIn = (callId: string) => {
    if (!people.has(callId))
      for (const call of truth.calls())
        people.set(call.callId, new Set(call.sessions.filter(isPerson).map(({ sid }) => sid)))
    return people.get(callId)
  }
  const series = (callId: string) => [...truth.series(callId)].filter(({ sid }) => peopleIn(callId)?.has(sid))
  return {
    ...truth,
    calls: () => [...truth.calls()].map(withPeople),
    series,
    points: callId => {
      const values = series(callId).flatMap(each => each.values)
      const points = values.filter(value => typeof value === 'number').length
      return truth.points(callId) && { points, malformed: values.length - points }
    },
  }
}

function withPeople(call: TrueCall): TrueCall {
  return {
    ...call,
    get sessions() {
      return call.sessions.filter(isPerson)
    },
  }
}
