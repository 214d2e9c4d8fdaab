import { z } from 'zod'
import { open } from '../classroom/fields.ts'
import { orNumber, second } from '../fits.ts'
import { allows, days, hours, type LimitsByPlan, perDay, perSecond, seconds } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { Envelope, list, listOfPage, notEmpty, ofAnalytics } from './answers.ts'
import { appid, callRange, listOf, maxima, paging } from './parameters.ts'

/** The document's table of limits of the two endpoints; whether they share a counter is not said, so they do. */
export const callDetailsLimits: LimitsByPlan = {
  standard: allows([perSecond(1), perDay(1_000)], days(1), hours(1), seconds(300)),
  premium: allows([perSecond(3), perDay(2_000)], days(7), hours(3), seconds(300)),
  enterprise: allows([perSecond(10), perDay(10_000)], days(15), hours(6), seconds(300)),
}

/** Quality metrics of a session by mid, as the document lists them; unit null where it has none. */
export const sessionMetrics: Readonly<
  Record<number, { readonly name: string; readonly unit: string | null }>
> = {
  20001: { name: 'App CPU usage', unit: '%' },
  20002: { name: 'System CPU usage', unit: '%' },
  20003: { name: 'Upstream audio bitrate', unit: 'Kbps' },
  20004: { name: 'Downstream audio bitrate', unit: 'Kbps' },
  20005: { name: 'Freeze time in rendering audio', unit: 'ms' },
  20006: { name: 'Upstream bitrate of low-quality video stream', unit: 'Kbps' },
  20007: { name: 'Video capturing frame rate', unit: 'fps' },
  20008: { name: 'Upstream frame rate of high-quality video stream', unit: 'fps' },
  20009: { name: 'Downstream video bitrate', unit: 'Kbps' },
  20010: { name: 'Downstream video frame rate', unit: 'fps' },
  20011: { name: 'Freeze time in rendering video', unit: 'ms' },
  20013: { name: 'Video quality of picture (QP); lower is better', unit: null },
  20015: { name: 'Upstream audio packet loss rate', unit: '%' },
  20016: { name: 'End-to-end audio packet loss rate', unit: '%' },
  20017: { name: 'Upstream video packet loss rate', unit: '%' },
  20018: { name: 'End-to-end video packet loss rate', unit: '%' },
  20019: { name: 'Width of received video', unit: null },
  20020: { name: 'Height of received video', unit: null },
  20021: { name: 'Task scheduling delay', unit: 'ms' },
  20022: { name: 'Round-trip delay from client to local router', unit: 'ms' },
  20023: { name: 'Upstream frame rate of low-quality video stream', unit: 'fps' },
  20024: { name: 'Upstream bitrate of high-quality video stream', unit: 'Kbps' },
  20025: { name: 'Sampling volume of sent audio', unit: 'dB' },
  20026: { name: 'Playback volume of received audio', unit: 'dB' },
  20027: { name: 'Width of sent video', unit: null },
  20028: { name: 'Height of sent video', unit: null },
}

const call = {
  ...callRange,
  appid,
  call_id: z.string().min(1, 'must not be empty').describe('ID of the call, as the search tells it'),
} as const

const user = z.union([z.number(), z.bigint(), z.string()])

/** Item of `call_info`. */
export const SessionItem = z.looseObject({
  sid: orNumber(z.string().min(1)),
  cname: orNumber(z.string()).nullish(),
  uid: user.nullish(),
  network: open(z.string()),
  platform: open(z.string()),
  speaker: open(z.boolean()),
  sdk_version: open(z.string()),
  device_type: open(z.string()),
  join_ts: second.nullish(),
  leave_ts: second.nullish(),
  finished: z.boolean().nullish(),
})

export const CallSessionsAnswer = Envelope.extend({
  total_size: z.unknown().optional(),
  call_info: list.nullish(),
}).transform((answer, context) => {
  const call_info = listOfPage(answer.call_info, answer) ?? notEmpty(context, 'call_info')
  return { ...answer, call_info }
})

export const callSessions = {
  ...ofAnalytics,
  name: 'callSessions',
  summary: 'Lists the user sessions of a call',
  path: '/beta/analytics/call/sessions',
  queryParams: {
    ...call,
    ...paging,
    uids: listOf(maxima.uids)
      .optional()
      .describe(`Only these users: at most ${maxima.uids} IDs with commas between`),
    exclude_server_user: z
      .boolean()
      .optional()
      .describe('true leaves out users on Linux servers, false shows them; true unless told'),
  },
  answer: CallSessionsAnswer,
  items: { call_info: SessionItem },
  limitGroup: 'call-details',
  limits: callDetailsLimits,
} as const satisfies Operation

/** Item of `metrics`. Pairs of `kvs` are arrays of Unix seconds and a value; objects are read too. */
export const MetricsItem = z.looseObject({
  sid: orNumber(z.string().min(1)),
  data: list,
})

export const MetricSeries = z.looseObject({
  mid: z.int(),
  /** The remote user; 0 means that the values are of the local user. */
  peer_uid: user.nullish(),
  kvs: list,
})

/** Nothing counts what it lists: null in its place may stand for anything. */
export const CallMetricsAnswer = Envelope.extend({ metrics: list })

export const callMetrics = {
  ...ofAnalytics,
  name: 'callMetrics',
  summary: 'Reads the quality metrics of sessions of a call',
  path: '/beta/analytics/call/metrics',
  queryParams: {
    ...call,
    sids: listOf(maxima.sids).describe(`IDs of sessions: 1 to ${maxima.sids} with commas between`),
  },
  answer: CallMetricsAnswer,
  items: { metrics: MetricsItem.extend({ data: z.array(MetricSeries) }) },
  limitGroup: 'call-details',
  ownLimitGroup: 'call-metrics',
  limits: callDetailsLimits,
} as const satisfies Operation

export const callDetailOperations = [callSessions, callMetrics] as const
