/** A metric that a query names, with every label that is selected, joined or grouped by beside it. */
export interface Selector {
  readonly metric: string
  readonly labels: readonly string[]
}

/** Of Prometheus itself, or given to every series when it is scraped. */
const scraped = new Set(['job', 'instance'])

/** The metrics that a query names. Words in quotes are no metrics, and neither are labels and functions. */
export function selectorsIn(query: string): readonly Selector[] {
  const found = [...query.matchAll(/\b(penstock[_:][\w:]+|process_\w+|nodejs_\w+|up)\b(\{[^}]*\})?/g)]
  return found.map(([, metric, braces = '']) => ({
    metric: metric!,
    labels: [...braces.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)]
      .map(([, label]) => label!)
      .filter(label => !scraped.has(label)),
  }))
}

/** Labels that a query groups, joins or divides by. */
export function groupedIn(query: string): readonly string[] {
  const lists = [...query.matchAll(/\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)/g)]
  return lists
    .flatMap(([, list]) => list!.split(','))
    .map(label => label.trim())
    .filter(label => label !== '' && !scraped.has(label))
}
