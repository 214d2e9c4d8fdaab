export type { MetricPoints, TrueSeries } from './analytics/metrics.ts'
export type { Subject } from './analytics/realtime.ts'
export type { ServedCall } from './analytics/search.ts'
export type { ServedSession } from './analytics/sessions.ts'
export type { AnalyticsTruth, TrueCall, TrueSession } from './analytics/truth.ts'
export type { Arrival } from './arrivals.ts'
export { addDifferences, comparePlayers, compareWith, type Difference, noDifference } from './compare.ts'
export { createSandbox } from './create.ts'
export { type DemoWorld, openDemoWorld } from './demo-world.ts'
export { FaultError, type FaultKind, type FaultRule, faultKinds, parseFaultRules } from './faults.ts'
export { type Figures, readFigures, readLag, readTotals, type Summary } from './figures.ts'
export { greeting } from './greeting.ts'
export { roster } from './lesson/people.ts'
export { type Listening, type ListenOptions, listen } from './listen.ts'
export { keepMoving, postTo } from './notices.ts'
export {
  type AppOptions,
  type CallsProfile,
  defaultSchool,
  demoApp,
  type Profile,
  type SandboxOptions,
  type SchoolProfile,
  type Settings,
} from './options.ts'
export { channelToken } from './players/channel-token.ts'
export type { Deliver, Delivery } from './players/deliver.ts'
export type { Notice } from './players/notices.ts'
export type { EndReason, StatusChange } from './players/player.ts'
export type { TruePlayer } from './players/truth.ts'
export { livelySchool, profiles } from './profiles.ts'
export { noQuirks, type Quirks, unstorable } from './quirks.ts'
export type { RoomView } from './room-view.ts'
export type { Sandbox, SandboxStatus } from './sandbox.ts'
export { parseSwitches, SwitchError, type Switches, switchTable } from './switches.ts'
export { type TruthFilter, type TruthLine, truthJson } from './truth.ts'
export { type ViolationKind, violationKinds } from './violations.ts'
export { ConnectionLost } from './wire.ts'
