import * as common from '@grafana/grafana-foundation-sdk/common'
import {
  type DynamicConfigValue,
  FieldColorBuilder,
  FieldColorModeId,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table'
import { dress, mappingOf, type PanelFace, type Steps, thresholdsOf, type Word } from './panels.ts'

export interface TableFace extends PanelFace {
  /** What sets a column apart from the others, by its name. */
  readonly columns?: Readonly<Record<string, Column>>
}

export interface Column {
  readonly unit?: string
  readonly decimals?: number
  readonly steps?: Steps
  readonly words?: Readonly<Record<string, Word>>
  readonly link?: { readonly title: string; readonly url: string }
  readonly width?: number
  /** The column is there for links alone. */
  readonly hidden?: 'yes'
}

/** Rows, with a colour behind the values of columns that have steps. */
export function table(face: TableFace): TableBuilder {
  const panel = dress(new TableBuilder(), face)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .cellHeight(common.TableCellHeight.Sm)
    .showHeader(true)
    .filterable(true)
  for (const [name, column] of Object.entries(face.columns ?? {})) {
    panel.overrideByName(name, [...propertiesOf(column)])
  }
  return panel
}

/** Grafana calls it by another name since 12.2. */
const hiding: readonly DynamicConfigValue[] = [
  { id: 'custom.hidden', value: true },
  { id: 'custom.hideFrom', value: { viz: true, legend: false, tooltip: false } },
]

function propertiesOf({
  unit,
  decimals,
  steps,
  words,
  link,
  width,
  hidden,
}: Column): readonly DynamicConfigValue[] {
  const colored = { id: 'custom.cellOptions', value: { type: 'color-text' } }
  return [
    ...(unit === undefined ? [] : [{ id: 'unit', value: unit }]),
    ...(decimals === undefined ? [] : [{ id: 'decimals', value: decimals }]),
    ...(steps ? [{ id: 'thresholds', value: thresholdsOf(steps).build() }] : []),
    ...(words ? [{ id: 'mappings', value: [mappingOf(words)] }] : []),
    ...(steps || words ? [colored] : []),
    ...(link ? [{ id: 'links', value: [link] }] : []),
    ...(width === undefined ? [] : [{ id: 'custom.width', value: width }]),
    ...(hidden ? hiding : []),
  ]
}
