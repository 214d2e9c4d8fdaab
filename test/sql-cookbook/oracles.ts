import { compareClasses, named, type OfClass, type Oracle, rowsOf, trueName, withStart } from './oracle.ts'
import { channelOracles } from './oracles-channels.ts'
import { peopleOracles } from './oracles-people.ts'
import { dayAt, equipmentOn, orphansOf, type Stay, type TrueClass, useOf } from './truth.ts'
import { outage } from './world.ts'

const minute = 60_000

const firstComings = ({ stays }: TrueClass): readonly Stay[] => [
  ...new Map(stays.toReversed().map(stay => [stay.userUuid, stay] as const)).values(),
]

/** Seconds that a stay has in common with a time, both in Unix ms. */
function common({ from, to }: Stay, since: number, until: number): number {
  return Math.max(0, Math.min(to ?? until, until) - Math.max(from, since)) / 1_000
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

const ofClasses: Oracle = {
  name: 'classroom.class: students, messages, hands, quizzes, polls and recordings',
  examine: (client, sandbox) =>
    compareClasses<OfClass & Record<string, unknown>>(
      client,
      sandbox,
      'select *, started_at as began from classroom.class',
      row => ['students', 'messages', 'hands', 'quizzes', 'polls', 'recordings'].map(column => row[column]),
      one => [
        [
          new Set(one.stays.filter(({ isStudent }) => isStudent).map(({ userUuid }) => userUuid)).size,
          ...[one.messages, one.hands, one.quizzes.length, one.polls.length, one.recordings],
        ],
      ],
    ),
}

const ofLate: Oracle = {
  name: 'classroom.late_arrival: who came more than five minutes after the bell',
  examine: (client, sandbox) =>
    compareClasses<OfClass & { user_uuid: string; minutes_late: number }>(
      client,
      sandbox,
      'select *, class_started_at as began from classroom.late_arrival',
      row => [row.user_uuid, row.minutes_late.toFixed(3)],
      one =>
        firstComings(one)
          .filter(({ isStudent, from }) => isStudent && from > one.startedAt + 5 * minute)
          .map(({ userUuid, from }) => [userUuid, ((from - one.startedAt) / minute).toFixed(3)]),
    ),
}

const ofAttention: Oracle = {
  name: 'classroom.attention: how many students were there in each half',
  examine: async (client, sandbox) => {
    const untils = new Map<string, number>()
    for (const row of await rowsOf<OfClass & { until: Date }>(
      client,
      'select *, started_at as began from classroom.attention',
    ))
      untils.set(named(row), row.until.getTime())
    return compareClasses<OfClass & { students_first_half: number; students_second_half: number }>(
      client,
      sandbox,
      'select *, started_at as began from classroom.attention',
      row => [row.students_first_half.toFixed(3), row.students_second_half.toFixed(3)],
      one => {
        // Events tell nothing of when the class ended, so the database's end is near to the true one and not the same.
        const until = untils.get(trueName(one)) ?? 0
        if (Math.abs(until - one.endedAt) > 6 * minute) return ['has an end that is far from the true one']
        const middle = one.startedAt + (until - one.startedAt) / 2
        const students = one.stays.filter(({ isStudent }) => isStudent)
        const mean = (since: number, to: number) => {
          const seconds = students.reduce((sum, stay) => sum + common(stay, since, to), 0)
          return (seconds / ((to - since) / 1_000)).toFixed(3)
        }
        return [[mean(one.startedAt, middle), mean(middle, until)]]
      },
    )
  },
}

const ofHeads: Oracle = {
  name: 'classroom.head_count: the most who were there at once, and nobody in the end',
  examine: (client, sandbox) =>
    compareClasses<OfClass & { most: number; students: number; last: number }>(
      client,
      sandbox,
      `select app_id, room_uuid, r.started_at as began, max(people) as most, max(students) as students,
              (array_agg(people order by at desc))[1] as last
       from classroom.head_count join classroom.room r using (app_id, room_uuid, incarnation) group by 1, 2, 3`,
      row => [row.most, row.students, row.last],
      one => [[most(one.stays), most(one.stays.filter(({ isStudent }) => isStudent)), 0]],
    ),
}

function most(stays: readonly Stay[]): number {
  const at = (moment: number) => stays.filter(({ from, to = moment + 1 }) => from <= moment && moment < to)
  return Math.max(...stays.map(({ from }) => at(from).length))
}

const ofParticipation: Oracle = {
  name: 'classroom.participation: stays and minutes of everybody',
  examine: (client, sandbox) =>
    compareClasses<OfClass & { user_uuid: string; stays: number; minutes: number }>(
      client,
      sandbox,
      withStart('classroom.participation'),
      row => [row.user_uuid, row.stays, Math.round(row.minutes * minute)],
      one =>
        firstComings(one).map(({ userUuid }) => {
          const own = one.stays.filter(stay => stay.userUuid === userUuid)
          const length = own.reduce((sum, { from, to = from }) => sum + to - from, 0)
          return [userUuid, own.length, length]
        }),
    ),
}

const ofQuizzes: Oracle = {
  name: 'classroom.quiz_result: who answered, and who was right in the end',
  examine: (client, sandbox) =>
    compareClasses<OfClass & Record<string, unknown>>(
      client,
      sandbox,
      withStart('classroom.quiz_result'),
      row => [row.quiz_id, row.asked, row.answered, row.correct, row.accuracy],
      one =>
        one.quizzes.map(({ id, asked, answers }) => {
          const correct = [...answers.values()].filter(isCorrect => isCorrect).length
          return [id, asked, answers.size, correct, share(correct, answers.size)]
        }),
    ),
}

const ofQuizAccuracy: Oracle = {
  name: 'classroom.quiz_accuracy: all answers of a class together',
  examine: (client, sandbox) =>
    compareClasses<OfClass & Record<string, unknown>>(
      client,
      sandbox,
      withStart('classroom.quiz_accuracy'),
      row => [row.quizzes, row.asked, row.answered, row.correct, row.accuracy],
      ({ quizzes }) => {
        if (quizzes.length === 0) return []
        const answers = quizzes.flatMap(quiz => [...quiz.answers.values()])
        const correct = answers.filter(isCorrect => isCorrect).length
        const asked = quizzes.reduce((sum, quiz) => sum + quiz.asked, 0)
        return [[quizzes.length, asked, answers.length, correct, share(correct, answers.length)]]
      },
    ),
}

const ofPolls: Oracle = {
  name: 'classroom.poll_result: every option and its votes',
  examine: (client, sandbox) =>
    compareClasses<OfClass & Record<string, unknown>>(
      client,
      sandbox,
      withStart('classroom.poll_result'),
      row => [row.poll_id, row.option, row.votes, row.share],
      one =>
        one.polls.flatMap(({ id, items, votes }) => {
          const choices = [...votes.values()]
          return items.map((item, option) => {
            const chosen = choices.filter(choice => choice.includes(option)).length
            return [id, item, chosen, choices.length === 0 ? 0 : chosen / choices.length]
          })
        }),
    ),
}

const ofOrphans: Oracle = {
  name: 'players.orphan_player: who plays where nobody can be',
  examine: async (client, sandbox) => ({
    told: (await rowsOf(client, 'select player_id from players.orphan_player'))
      .map(row => row.player_id)
      .sort(),
    truth: [...orphansOf(sandbox)].sort(),
  }),
}

const ofUse: Oracle = {
  name: 'analytics.usage_by_day: calls, users, sessions and minutes of Tuesday',
  examine: async (client, sandbox) => {
    const rows = await rowsOf<{ app_id: string; user_minutes: number } & Record<string, unknown>>(
      client,
      `select * from analytics.usage_by_day where day = '2026-01-06' order by app_id`,
    )
    return {
      told: rows.map(row => [row.app_id, row.calls, row.users, row.sessions, row.user_minutes.toFixed(3)]),
      truth: [...useOf(sandbox, '2026-01-06')].map(([app, { calls, users, sessions, userMinutes }]) => {
        return [app, calls, users, sessions, userMinutes.toFixed(3)]
      }),
    }
  },
}

const freezing: ReadonlySet<number> = new Set([20_005, 20_011])

/** Counts by hand the values that are stored; who sat at what is known from the school. */
function ofEquipment(view: string, columns: readonly ('network' | 'platform' | 'deviceType')[]): Oracle {
  const words = columns.map(column => column.replace('deviceType', 'device_type')).join(', ')
  return {
    name: `analytics.${view}: freezes by what people sit at`,
    examine: async (client, sandbox) => {
      const equipment = equipmentOn(sandbox, 'dayschool', '2026-01-06')
      const values = await rowsOf<{ sid: string; mid: number; value: number }>(
        client,
        `select sid, mid, value from analytics.session_metric where app_id = 'dayschool'`,
      )
      const counts = new Map<string, { samples: number; freezes: number }>()
      const keyOf = (sid: string) => columns.map(column => equipment.get(sid)![column]).join(' ')
      for (const { sid, mid, value } of values) {
        if (!freezing.has(mid) || !equipment.has(sid)) continue
        const count = counts.get(keyOf(sid)) ?? { samples: 0, freezes: 0 }
        counts.set(keyOf(sid), count)
        count.samples += 1
        if (value >= 200) count.freezes += 1
      }
      const sids = Map.groupBy(equipment.keys(), keyOf)
      const rows = await rowsOf(
        client,
        `select concat_ws(' ', ${words}) as key, sessions, freeze_samples::int, freezes::int, freeze_share
         from analytics.${view} where app_id = 'dayschool' and day = '2026-01-06'`,
      )
      return {
        told: rows
          .map(row => [row.key, row.sessions, row.freeze_samples, row.freezes, row.freeze_share])
          .sort(),
        truth: [...sids]
          .map(([key, { length }]) => {
            const { samples, freezes } = counts.get(key) ?? { samples: 0, freezes: 0 }
            return [key, length, samples, freezes, share(freezes, samples)]
          })
          .sort(),
      }
    },
  }
}

/** A series has a window every 20 seconds. */
const windowSeconds = 20

const ofLosses: Oracle = {
  name: 'ingest.loss: exactly the real-time windows that are not there, and the night in which nobody asked',
  examine: async client => {
    const losses = await rowsOf<{
      app_id: string
      stream: string
      series: string
      range_from: Date
      range_to: Date
    }>(client, `select * from ingest.loss where state = 'lost'`)
    const nights = losses.filter(({ stream, range_from, range_to }) => {
      const [from, to] = [range_from.getTime(), range_to.getTime()]
      return (
        stream === 'app-events' && from <= outage.from && from > outage.from - 4 * minute && to === outage.to
      )
    })
    const windows = await rowsOf<{ series: string; at: Date }>(
      client,
      `select concat_ws('/', product, metric, nullif(cname, '')) as series, at from analytics.quality_realtime
       order by series, at`,
    )
    const holes = [...Map.groupBy(windows, ({ series }) => series)].flatMap(([series, list]) =>
      list.slice(1).flatMap(({ at }, n) => {
        const before = list[n]!.at.getTime() + windowSeconds * 1_000
        return at.getTime() > before
          ? [`${series} ${new Date(before).toISOString()} ${at.toISOString()}`]
          : []
      }),
    )
    const told = losses
      .filter(({ stream }) => stream === 'realtime-quality')
      .map(({ series, range_from, range_to }) => {
        return `${series} ${range_from.toISOString()} ${range_to.toISOString()}`
      })
    return {
      told: [...told.sort(), ...nights.map(({ app_id }) => app_id).sort()],
      truth: [...holes.sort(), 'dayschool', 'evening'],
    }
  },
}

const ofCompleteness: Oracle = {
  name: 'ingest.complete_day: complete is what lacks nothing',
  examine: async (client, sandbox) => {
    const rows = await rowsOf<{ app_id: string; stream: string; day: string; complete: boolean }>(
      client,
      `select app_id, stream, day::text, complete from ingest.complete_day
       where day = '2026-01-06' and stream in ('app-events', 'calls', 'call-sessions', 'poll', 'realtime-quality') order by 1, 2`,
    )
    const stored = await rowsOf<{ app_id: string; sid: string }>(
      client,
      'select app_id, sid from analytics.call_session',
    )
    const sids = new Set(stored.map(({ app_id, sid }) => `${app_id} ${sid}`))
    const hasAll = (app: string) =>
      [...sandbox.analytics(app).calls()]
        .filter(({ createdAt }) => dayAt(app, createdAt) === '2026-01-06')
        .every(({ sessions }) => sessions.every(({ sid }) => sids.has(`${app} ${sid}`)))
    const [{ windows } = { windows: 0 }] = await rowsOf<{ windows: number }>(
      client,
      `select min(n)::int as windows from (
         select count(*) as n from analytics.quality_realtime where at >= '2026-01-06Z' and at < '2026-01-07Z'
         group by product, metric, cname) x`,
    )
    const isRead = (app: string) => ![outage.from, outage.to].some(at => dayAt(app, at) === '2026-01-06')
    return {
      told: rows.map(({ app_id, stream, complete }) => [app_id, stream, complete]),
      truth: [
        ['dayschool', 'app-events', isRead('dayschool')],
        ['dayschool', 'call-sessions', hasAll('dayschool')],
        ['dayschool', 'calls', true],
        ['dayschool', 'poll', isRead('dayschool')],
        ['dayschool', 'realtime-quality', windows === 86_400 / windowSeconds],
        ['evening', 'app-events', isRead('evening')],
        ['evening', 'call-sessions', hasAll('evening')],
        ['evening', 'calls', true],
        ['evening', 'poll', isRead('evening')],
      ],
    }
  },
}

const ofCompleteClasses: Oracle = {
  name: 'classroom.class_complete: a class that was read to its end lacks what nobody can read, and nothing else',
  examine: (client, sandbox) =>
    compareClasses<OfClass & { complete: boolean; reasons: string }>(
      client,
      sandbox,
      'select *, started_at as began from classroom.class_complete',
      row => [row.complete, row.reasons],
      ({ isUnreadable }) => [[!isUnreadable, isUnreadable ? 'unreadable' : '']],
    ),
}

export const oracles: readonly Oracle[] = [
  ...[ofClasses, ofLate, ofAttention, ofHeads, ofParticipation, ofQuizzes, ofQuizAccuracy, ofPolls],
  ...channelOracles,
  ...peopleOracles,
  ...[ofOrphans, ofUse],
  ofEquipment('network_quality', ['network']),
  ofEquipment('device_quality', ['platform', 'deviceType']),
  ...[ofLosses, ofCompleteness, ofCompleteClasses],
]
