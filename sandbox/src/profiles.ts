import { defaultSchool, type Profile, type SchoolProfile } from './options.ts'

/**
 * A school in real time, as the limits of call analytics want it. Its first classes are over, yet their rooms are
 * still remembered: the calls tell of them, so that the quality of a class stands beside it within a minute.
 */
export const livelySchool: SchoolProfile = {
  kind: 'school',
  classes: 12,
  students: 10,
  lessonMinutes: 4,
  breakMinutes: 2,
  eventsPerMinute: 60,
  historyMinutes: 14,
}

/** What a sandbox started by hand can play. */
export const profiles: Readonly<Record<string, Profile>> = {
  school: defaultSchool,
  lively: livelySchool,
  backlog: { kind: 'backlog', rooms: 1_000, eventsPerRoom: 1_000 },
  idle: { kind: 'idle', rooms: 10_000 },
  calls: { kind: 'calls', callsPerDay: 10_000, users: 8, minutes: 40, days: 15 },
  classes: { kind: 'calls', callsPerDay: 2_500, users: 30, minutes: 40, days: 15 },
}
