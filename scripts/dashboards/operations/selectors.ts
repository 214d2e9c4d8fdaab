/** The processes that the reader chose; `more` narrows the labels down. */
export function of(metric: string, more = ''): string {
  return `${metric}{job="$job",namespace=~"$namespace",instance=~"$instance"${more && `,${more}`}}`
}

/** The same of all processes: what each has a share of, and one alone says nothing of. */
export function ofAll(metric: string): string {
  return `${metric}{job="$job",namespace=~"$namespace"}`
}

/** Alerts; rules that the chart has not loaded give no namespace to those that sum over processes. */
export function alerts(more = ''): string {
  return `ALERTS{job="$job",namespace=~"$namespace|",alertname=~"Penstock.+"${more && `,${more}`}}`
}

/** What could not be read; what refuses a request, or fails with it, is told as such (PenstockDeadLetters). */
export const unreadable =
  'reason!~"network|timeout|redirect|unauthorized|forbidden|not_found|conflict|rate_limited|quota|no_access|.+_limit|limit_exceeded|server_error|unavailable|gateway_timeout"'

/** A number that the alerts compare with, by its name in the rules. */
export function allowed(name: string): string {
  return `max(penstock_threshold{job="$job",namespace=~"$namespace",name="${name}"})`
}

/** The streams as the alerts part them: by how late they may be. */
export const late = [
  { streams: 'stream!~"calls|.*-insight|realtime-.*"', allowed: 'lag_seconds' },
  { streams: 'stream=~"calls|realtime-.*"', allowed: 'lag_analytics_seconds' },
  { streams: 'stream=~".*-insight"', allowed: 'lag_insight_seconds' },
] as const

/** The streams as the alerts part them: by how long the provider serves what they bring. */
export const expiring = [
  { streams: 'stream!~"realtime-.*"', allowed: 'expiry_seconds' },
  { streams: 'stream=~"realtime-.*"', allowed: 'expiry_realtime_seconds' },
] as const

/** Nothing is shown as one series of 0 with this label, so that an empty panel always means trouble. */
export function orNone(expr: string, label: string): string {
  return `${expr} or on () label_replace(vector(0), "${label}", "none", "", "")`
}
