import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { dashboardTexts } from '../../scripts/dashboards/index.ts'
import { type Dashboard, panelsOf, readDashboards } from './files.ts'
import { faultsOf } from './shape.ts'

describe('the dashboards', () => {
  it('are those that the code makes', () => {
    const committed = Object.keys(dashboardTexts()).map(path => [path, readFileSync(path, 'utf8')])
    expect(Object.fromEntries(committed), 'run npm run generate').toEqual(dashboardTexts())
    expect(Object.keys(readDashboards()).sort()).toEqual(['call-quality', 'class', 'operations', 'usage'])
  })

  it('are written without a fault', () => {
    expect(faultsOf(readDashboards())).toEqual([])
  })

  it('lead to each other', () => {
    const all = Object.values(readDashboards())
    for (const { uid, links = [] } of all) {
      expect(links.map(({ url }) => url).sort()).toEqual(
        all
          .map(other => `/d/${other.uid}`)
          .filter(url => url !== `/d/${uid}`)
          .sort(),
      )
    }
  })

  it('hand on the time and the variables: the app everywhere, the class and the database wherever there is one', () => {
    for (const { uid, links = [], templating } of Object.values(readDashboards())) {
      for (const { keepTime, includeVars } of links) {
        expect({ keepTime, includeVars }, uid).toEqual({ keepTime: true, includeVars: true })
      }
      const names = templating.list.map(({ name }) => name)
      const wanted = uid === 'penstock-operations' ? ['app'] : ['penstock', 'app', 'room', 'incarnation']
      expect(names, uid).toEqual(expect.arrayContaining(wanted))
    }
  })

  it('take every data source from a variable, so that they load anywhere', () => {
    for (const dashboard of Object.values(readDashboards())) {
      const [source] = dashboard.templating.list.filter(({ type }) => type === 'datasource')
      const refs = [...JSON.stringify(dashboard).matchAll(/"datasource":\{"type":"([^"]+)","uid":"([^"]+)"/g)]
      expect(refs.length).toBeGreaterThan(10)
      for (const [, type, uid] of refs) {
        expect({ type, uid }).toEqual({ type: source!.query, uid: `\${${source!.name}}` })
      }
    }
  })

  it('ask the sources that compose.yaml provides, unless the reader chooses others', () => {
    const provided = readFileSync('deploy/compose/grafana/datasources/penstock.yaml', 'utf8')
    for (const { templating } of Object.values(readDashboards())) {
      const sources = templating.list.filter(({ type }) => type === 'datasource')
      expect(sources).toHaveLength(1)
      expect(provided).toContain(`uid: ${sources[0]!.current!.value}\n    type: ${sources[0]!.query}`)
    }
  })
})

/** Each breaks one thing in a copy, and says what must be found. */
const mistakes: readonly (readonly [
  what: string,
  found: RegExp,
  plant: (all: Record<string, Draft>) => void,
])[] = [
  [
    'a panel without a description',
    /does not say what is good/,
    ({ usage }) => (first(usage!).description = ''),
  ],
  [
    'a unit that Grafana does not know',
    /its unit is furlong/,
    ({ usage }) => (first(usage!).fieldConfig.defaults.unit = 'furlong'),
  ],
  [
    'an empty panel without a word',
    /what an empty panel means/,
    ({ class: one }) => (first(one!).fieldConfig.defaults.noValue = ''),
  ],
  [
    'two dashboards with one UID',
    /two dashboards have the UID/,
    ({ class: one, usage }) => (one!.uid = usage!.uid),
  ],
  [
    'a panel on top of another',
    /overlap/,
    ({ operations }) => (operations!.panels[2]!.gridPos = operations!.panels[1]!.gridPos),
  ],
  [
    'a panel beyond the right edge',
    /leaves the grid/,
    ({ operations }) => (operations!.panels[1]!.gridPos.x = 23),
  ],
  [
    'a metric that nobody has',
    /penstock_lags is not in/,
    ({ operations }) => rewrite(operations!, 'penstock_lag_seconds', 'penstock_lags'),
  ],
  [
    'a label that the metric does not have',
    /has no label flow/,
    ({ operations }) => rewrite(operations!, 'stream=~', 'flow=~'),
  ],
  [
    'a metric of every job',
    /not narrowed down to a job/,
    ({ operations }) => rewrite(operations!, 'up{job="$job",', 'up{'),
  ],
  [
    'a bracket too few',
    /brackets do not match/,
    ({ operations }) => rewrite(operations!, 'max by (stream) (', 'max by (stream) '),
  ],
  [
    'a link to a dashboard that is not there',
    /where nothing is/,
    ({ 'call-quality': quality }) => rewrite(quality!, '/d/penstock-class?', '/d/penstock-lesson?'),
  ],
  [
    'a link that sets no variable of its target',
    /sets lesson, which/,
    ({ 'call-quality': quality }) => rewrite(quality!, 'var-room=', 'var-lesson='),
  ],
  [
    'a link with a column that is not answered',
    /a link names the column Class/,
    ({ 'call-quality': quality }) => rewrite(quality!, 'fields["Room"]', 'fields["Class"]'),
  ],
  [
    'a variable that is not there',
    /it has no variable lesson/,
    ({ class: one }) => rewrite(one!, "'$room'", "'$lesson'"),
  ],
  [
    'a variable that is handed on to nobody',
    /no other dashboard shows lesson, which it carries/,
    ({ usage }) => (usage!.templating.list.find(({ name }) => name === 'room')!.name = 'lesson'),
  ],
  [
    'states that are merged',
    /make one state of several/,
    ({ class: one }) => {
      panelOf(one!, 'Attendance').fieldConfig.defaults.color = { mode: 'thresholds' }
    },
  ],
  [
    'thresholds that fall',
    /thresholds do not rise/,
    ({ operations }) =>
      first(operations!).fieldConfig.defaults.thresholds.steps.push({ value: -1, color: 'red' }),
  ],
  [
    'a line without a name',
    /a line has no name/,
    ({ operations }) => {
      panelOf(operations!, 'CPU').targets[0]!.legendFormat = ''
    },
  ],
]

describe('the search for faults', () => {
  it.each(mistakes)('finds %s', (_, found, plant) => {
    const copy = structuredClone(readDashboards()) as unknown as Record<string, Draft>
    plant(copy)
    expect(faultsOf(copy as unknown as Record<string, Dashboard>).join('\n')).toMatch(found)
  })
})

/** A dashboard that may be spoilt. */
interface Draft {
  uid: string
  panels: DraftPanel[]
  templating: { list: { name: string }[] }
}

interface DraftPanel {
  type: string
  title: string
  description: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets: { legendFormat?: string }[]
  fieldConfig: {
    defaults: {
      color?: { mode: string }
      unit: string
      noValue: string
      thresholds: { steps: { value: number | null; color: string }[] }
    }
  }
}

function first(draft: Draft): DraftPanel {
  return panelsOf(draft as unknown as Dashboard)[0] as unknown as DraftPanel
}

function panelOf({ panels }: Draft, title: string): DraftPanel {
  return panels.find(panel => panel.title === title)!
}

/** Puts one text in the place of another, wherever it stands in a string. */
function rewrite(draft: Draft, from: string, to: string): void {
  const before = JSON.stringify(draft.panels)
  const quoted = (text: string) => JSON.stringify(text).slice(1, -1)
  const after = before.replaceAll(quoted(from), quoted(to))
  if (after === before) throw new Error(`${from} stands nowhere`)
  draft.panels = JSON.parse(after) as DraftPanel[]
}
