/** The processes that the reader chose; `more` narrows the labels down. */
export function of(metric: string, more = ''): string {
  return `${metric}{job="$job",namespace=~"$namespace",instance=~"$instance"${more && `,${more}`}}`
}

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
