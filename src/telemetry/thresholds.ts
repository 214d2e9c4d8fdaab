/** The numbers that the alerts compare with, seconds. */
export const thresholds = {
  stall_seconds: 300,
  stall_analytics_seconds: 7_200,
  lag_seconds: 300,
  lag_analytics_seconds: 3_600,
  lag_insight_seconds: 86_400,
  expiry_seconds: 21_600,
  expiry_realtime_seconds: 300,
} as const

/** How late a stream may be before its alert fires, seconds. */
export function allowedLag(stream: string): number {
  if (stream.endsWith('-insight')) return thresholds.lag_insight_seconds
  const isPaced = stream === 'calls' || stream.startsWith('realtime-')
  return isPaced ? thresholds.lag_analytics_seconds : thresholds.lag_seconds
}

/** For how long nothing of a stream may be stored before its alert fires, seconds. */
export function allowedSilence(stream: string): number {
  return isOfAnalytics(stream) ? thresholds.stall_analytics_seconds : thresholds.stall_seconds
}

/** Whether it is a stream of call analytics, or the service: what is asked of them is paced by the budget of a day. */
export function isOfAnalytics(name: string): boolean {
  return /^(analytics|calls|call-.*|.*-insight|realtime-.*)$/.test(name)
}

/** How soon the backlog of a stream expires when its alert fires, seconds. */
export function expiry(stream: string): number {
  return stream.startsWith('realtime-') ? thresholds.expiry_realtime_seconds : thresholds.expiry_seconds
}
