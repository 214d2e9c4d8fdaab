import {
  type Call,
  type Counts,
  openRoom,
  type Person,
  type Player,
  type QuizStep,
  quietRoom,
  type Recording,
  type Room,
  type Session,
  type SharedFile,
  type World,
} from './world.ts'

const teacher: Person = { uuid: 'ms-oak', name: 'Ms Oak "the tree" 🌳', role: 1 }
const students: readonly Person[] = ['ann', 'bo', 'cy', 'di'].map(name => ({
  uuid: `${name}-1`,
  name: name.toUpperCase(),
  role: 2,
}))
const [ann, bo, cy, di] = students as [Person, Person, Person, Person]

/** `bornAt` in ms; everything lies in the hours before. Of a large world a quiz and a call are more than one page holds. */
export function makeWorld(app: string, bornAt: number, lobby: string, isLarge: boolean): World {
  const begin = Math.floor(bornAt / 1000) * 1000 - 20 * 60_000
  const at = (seconds: number) => begin + seconds * 1000
  return {
    app,
    bornAt,
    rooms: [
      busyRoom(`${app}-math/7 b#1?50%`, at),
      roomOfLittle(quietRoom(app), at),
      roomThatGoesOn(openRoom(app), at, isLarge),
    ],
    calls: makeCalls(app, Math.floor(bornAt / 1000), lobby, isLarge),
    players: [
      player(app, 1, at(0), quietRoom(app), ['connecting', 'running']),
      player(app, 2, at(1), quietRoom(app), ['running', undefined]),
      player(app, 3, at(2), lobby, ['idle', 'idle']),
      player(app, 4, at(3), quietRoom(app), [undefined, 'running']),
      player(app, 5, at(4), openRoom(app), ['running', 'running']),
    ],
  }
}

function busyRoom(uuid: string, at: (seconds: number) => number): Room {
  const file = (name: string): SharedFile => ({
    uuid: `${uuid.slice(0, 8)}-${name}`,
    name: `${name}.pdf`,
    size: 4096,
    ext: 'pdf',
    url: `https://files.example.com/${name}.pdf`,
  })
  const recording = (n: number, acts: Recording['acts']): Recording => ({
    id: `${uuid.slice(0, 8)}-rec-${n}`,
    sid: `sid-${n}`,
    resourceId: `resource-${n}`,
    startTime: at(100 * n),
    endTime: at(100 * n + 50),
    files: [`https://films.example.com/${n}-a.mp4`, `https://films.example.com/${n}-b.mp4`],
    acts,
  })
  const first = recording(1, [0, 1, 2])
  const second = recording(2, [1, 1, 2])
  const startTime = at(10)
  const quiz = [`${uuid.slice(0, 8)}-quiz-1`, `${uuid.slice(0, 8)}-quiz-2`] as const
  const poll = [`${uuid.slice(0, 8)}-poll-1`, `${uuid.slice(0, 8)}-poll-2`] as const
  return {
    uuid,
    log: [
      [
        { cmd: 1, state: 0 },
        { cmd: 20, came: [teacher], went: [] },
        { cmd: 1, state: 1, startTime },
        { cmd: 20, came: students, went: [] },
        { cmd: 3, from: teacher, message: 'good morning' },
        { cmd: 3, from: ann, message: 'zero \u0000, half a pair \ud800, "quotes"' },
        { cmd: 1001, recording: first, isStart: true },
        { cmd: 1003, files: [file('leaf'), file('root')], by: teacher, action: 1 },
        { cmd: 1502, up: [bo], down: [], others: [] },
        { cmd: 1501, up: [bo], down: [], others: [cy] },
        { cmd: 4711, anything: 'of another version' },
      ],
      [
        { cmd: 1101, who: bo, change: 2, sum: 2, at: at(400) },
        { cmd: 1502, up: [], down: [bo], others: [di] },
        { cmd: 1501, up: [], down: [bo], others: [cy] },
        { cmd: 1001, recording: first, isStart: false },
        { cmd: 1001, recording: second, isStart: true },
        { cmd: 1003, files: [file('root')], by: teacher, action: 2 },
        { cmd: 3, from: di, message: 'bye' },
        { cmd: 20, came: [], went: [ann, bo] },
        { cmd: 1001, recording: second, isStart: false },
        { cmd: 20, came: [], went: [cy, di, teacher] },
        { cmd: 1, state: 2, startTime },
      ],
    ],
    quiz: [
      [
        { step: 'start', id: quiz[0], at: at(50), total: 4, by: teacher },
        { step: 'answer', id: quiz[0], by: ann, chosen: [0], isCorrect: true, at: at(60) },
        { step: 'counts', id: quiz[0], counts: { selected: 1, correct: 1, total: 4, average: 1 } },
        { step: 'answer', id: quiz[0], by: bo, chosen: [1, 2], isCorrect: false, at: at(61) },
        { step: 'counts', id: quiz[0], counts: { selected: 2, correct: 1, total: 4, average: 0.5 } },
      ],
      [
        { step: 'answer', id: quiz[0], by: bo, chosen: [0], isCorrect: true, at: at(65) },
        { step: 'counts', id: quiz[0], counts: { selected: 2, correct: 2, total: 4, average: 1 } },
        { step: 'end', id: quiz[0], counts: { selected: 2, correct: 2, total: 4, average: 1 } },
        { step: 'start', id: quiz[1], at: at(300), total: 4, by: teacher },
        { step: 'answer', id: quiz[1], by: cy, chosen: [2], isCorrect: false, at: at(310) },
        { step: 'counts', id: quiz[1], counts: { selected: 1, correct: 0, total: 4, average: 0 } },
        { step: 'end', id: quiz[1], counts: { selected: 1, correct: 0, total: 4, average: 0.25 } },
      ],
    ],
    poll: [
      [
        { step: 'start', id: poll[0], mode: 2, by: teacher },
        { step: 'answer', id: poll[0], by: ann, chosen: [0, 2] },
        { step: 'counts', id: poll[0], votes: [1, 0, 1] },
      ],
      [
        { step: 'answer', id: poll[0], by: di, chosen: [0] },
        { step: 'counts', id: poll[0], votes: [2, 0, 1] },
        { step: 'end', id: poll[0], votes: [2, 0, 1] },
        { step: 'start', id: poll[1], mode: 1, by: teacher },
        { step: 'answer', id: poll[1], by: cy, chosen: [1] },
        { step: 'counts', id: poll[1], votes: [0, 1, 0] },
        { step: 'end', id: poll[1], votes: [0, 1, 0] },
      ],
    ],
    recordings: [first, second],
    files: [[file('leaf'), file('root')], [file('leaf')]],
  }
}

/** Empty lists are answers too. */
function roomOfLittle(uuid: string, at: (seconds: number) => number): Room {
  const startTime = at(5)
  return {
    uuid,
    log: [
      [
        { cmd: 1, state: 1, startTime },
        { cmd: 20, came: [teacher], went: [] },
      ],
      [
        { cmd: 20, came: [], went: [teacher] },
        { cmd: 1, state: 2, startTime },
      ],
    ],
    quiz: [[], []],
    poll: [[], []],
    recordings: [],
    files: [[], []],
  }
}

/** Its first quiz is over in the first act. */
function roomThatGoesOn(uuid: string, at: (seconds: number) => number, isLarge: boolean): Room {
  const quiz = `${uuid.slice(0, 20)}-quiz`
  const many = Array.from({ length: isLarge ? 60 : 2 }, (_, n) => n)
  const counts = (n: number): Counts => ({ selected: n, correct: n, total: 60, average: 1 })
  return {
    uuid,
    log: [
      [
        { cmd: 1, state: 1, startTime: at(6) },
        { cmd: 20, came: [teacher, ann], went: [] },
      ],
      [
        { cmd: 3, from: ann, message: 'still there' },
        { cmd: 20, came: [bo], went: [] },
      ],
    ],
    quiz: [
      [
        { step: 'start', id: quiz, at: at(70), total: 60, by: teacher },
        ...many.flatMap((n): readonly QuizStep[] => [
          {
            ...{ step: 'answer', id: quiz, chosen: [0], isCorrect: true, at: at(80 + n) },
            by: { uuid: `pupil-${n}`, name: `Pupil ${n}`, role: 2 },
          },
          { step: 'counts', id: quiz, counts: counts(n + 1) },
        ]),
        { step: 'end', id: quiz, counts: counts(many.length) },
      ],
      [
        { step: 'start', id: `${quiz}-2`, at: at(500), total: 4, by: teacher },
        { step: 'answer', id: `${quiz}-2`, by: ann, chosen: [1], isCorrect: false, at: at(510) },
        { step: 'end', id: `${quiz}-2`, counts: { selected: 1, correct: 0, total: 4, average: 0 } },
      ],
    ],
    poll: [[], []],
    recordings: [],
    files: [[], []],
  }
}

function makeCalls(app: string, now: number, lobby: string, isLarge: boolean): readonly Call[] {
  const call = (n: number, minutesAgo: number, minutes: number | undefined, sessions: number): Call => {
    const created = now - minutesAgo * 60
    const destroyed = minutes === undefined ? {} : { destroyed: created + minutes * 60 }
    const id = `${app}-call-${n}`
    const stays = Array.from({ length: sessions }, (_, i) => session(id, created, i))
    return { id, cname: n === 1 ? `${app}-math/7 b#1?50%` : lobby, created, ...destroyed, sessions: stays }
  }
  return [
    ...[call(1, 300, 20, isLarge ? 130 : 23), call(2, 120, 9, 2)],
    ...[call(3, 40, 8, 1), call(4, 30, undefined, 0)],
  ]
}

function session(call: string, created: number, i: number): Session {
  const join = created + 5 + i
  const values = [20005, 20022, 20036].flatMap((mid, m) =>
    [0, 1, 2].map(n => ({
      mid,
      peer: m === 0 ? 4_294_967_295 : 0,
      at: join + 2 * n,
      value: i + m * 0.5 + n * 0.125,
    })),
  )
  return {
    sid: `${call}-sid-${i}`,
    // The same user comes back now and then.
    uid: i % 7 === 6 ? 4_294_967_290 : 1000 + i,
    join,
    leave: join + 60,
    network: i % 2 === 0 ? 'WiFi' : '4G',
    platform: i % 5 === 4 ? 'Linux' : 'Android',
    // The last one of a call of one has nothing to tell.
    values: call.endsWith('-3') ? [] : values,
  }
}

function player(app: string, n: number, at: number, channel: string, status: Player['status']): Player {
  const created = Math.floor(at / 1000)
  return { id: `${app}-player-${n}`, name: `p_${n}`, uid: 7000 + n, created, channel, status }
}
