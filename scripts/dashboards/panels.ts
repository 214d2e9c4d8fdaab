import { PanelBuilder as BarGaugeBuilder } from '@grafana/grafana-foundation-sdk/bargauge'
import type * as cog from '@grafana/grafana-foundation-sdk/cog'
import * as common from '@grafana/grafana-foundation-sdk/common'
import {
  DashboardLinkBuilder,
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
  type Panel,
  type ThresholdsConfig,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline'
import { PanelBuilder as SeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries'
import { type Query, refTo } from './sources.ts'

/** What every panel has. */
export interface PanelFace {
  readonly title: string
  /** What it shows, what is good and what is bad. */
  readonly description: string
  /** Grafana's name of the unit. */
  readonly unit: string
  /** What stands there when nothing came. */
  readonly none: string
  /** Columns of 24. */
  readonly width: number
  readonly height: number
  readonly queries: readonly [Query, ...Query[]]
  /** Where a value turns from good to bad. */
  readonly steps?: Steps
  readonly decimals?: number
  readonly min?: number
  readonly max?: number
  /** Words in the place of numbers, with a colour. */
  readonly words?: Readonly<Record<string, Word>>
}

export interface Word {
  readonly text: string
  readonly color: string
}

/** The colour of the lowest values, then [from here on, this colour]. */
export type Steps = readonly [color: string, ...steps: (readonly [from: number, color: string])[]]

export type PanelPart = cog.Builder<Panel>

interface Dressable extends cog.Builder<Panel> {
  title(text: string): unknown
  description(text: string): unknown
  unit(unit: string): unknown
  noValue(text: string): unknown
  span(columns: number): unknown
  height(rows: number): unknown
  datasource(ref: common.DataSourceRef): unknown
  targets(targets: cog.Builder<cog.Dataquery>[]): unknown
  thresholds(thresholds: cog.Builder<ThresholdsConfig>): unknown
  mappings(mappings: ValueMapping[]): unknown
  decimals(decimals: number): unknown
  min(min: number): unknown
  max(max: number): unknown
}

/** Gives a panel of any kind what every panel has. */
export function dress<P extends Dressable>(panel: P, face: PanelFace): P {
  const [{ source }] = face.queries
  panel.title(face.title)
  panel.description(face.description)
  panel.unit(face.unit)
  panel.noValue(face.none)
  panel.span(face.width)
  panel.height(face.height)
  panel.datasource(refTo(source))
  panel.targets(face.queries.map(({ build }, n) => build(String.fromCharCode(65 + n))))
  panel.thresholds(thresholdsOf(face.steps ?? ['green']))
  if (face.words) panel.mappings([mappingOf(face.words)])
  if (face.decimals !== undefined) panel.decimals(face.decimals)
  if (face.min !== undefined) panel.min(face.min)
  if (face.max !== undefined) panel.max(face.max)
  return panel
}

export function thresholdsOf([lowest, ...steps]: Steps): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps([{ value: null, color: lowest }, ...steps.map(([value, color]) => ({ value, color }))])
}

export function mappingOf(words: Readonly<Record<string, Word>>): ValueMapping {
  const options = Object.entries(words).map(([value, word], index) => [value, { ...word, index }])
  return { type: MappingType.ValueToText, options: Object.fromEntries(options) }
}

/** One number, or a few, coloured by its steps. */
export function stat(face: PanelFace): StatBuilder {
  return dress(new StatBuilder(), face)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .colorMode(common.BigValueColorMode.Value)
    .graphMode(common.BigValueGraphMode.None)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false))
}

/** A bar for each series, coloured by its steps. */
export function bars(face: PanelFace): BarGaugeBuilder {
  return dress(new BarGaugeBuilder(), face)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .orientation(common.VizOrientation.Horizontal)
    .displayMode(common.BarGaugeDisplayMode.Basic)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false))
}

export interface SeriesFace extends PanelFace {
  /** Lines unless told. */
  readonly drawn?: 'lines' | 'bars' | 'stacked bars'
  /** Shortest time between two points that makes sense, such as 20s. */
  readonly interval?: string
}

/** Legends of queries that say where good ends; drawn as dashed red lines. */
const limitLines = '/^(allowed|expected)/'

/** Values over time. Steps are drawn as dashed lines. */
export function series(face: SeriesFace): SeriesBuilder {
  const { drawn = 'lines', steps } = face
  const panel = dress(new SeriesBuilder(), face)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassic))
    .lineWidth(1)
    .showPoints(drawn === 'lines' ? common.VisibilityMode.Auto : common.VisibilityMode.Never)
    .legend(listLegend(['lastNotNull', 'max']))
    .tooltip(
      new common.VizTooltipOptionsBuilder()
        .mode(common.TooltipDisplayMode.Multi)
        .sort(common.SortOrder.Descending),
    )
    .overrideByRegexp(limitLines, [
      { id: 'color', value: { mode: FieldColorModeId.Fixed, fixedColor: 'red' } },
      { id: 'custom.lineStyle', value: { fill: 'dash', dash: [10, 10] } },
      { id: 'custom.fillOpacity', value: 0 },
    ])
  if (face.interval) panel.interval(face.interval)
  if (steps) {
    panel.thresholdsStyle(
      new common.GraphThresholdsStyleConfigBuilder().mode(common.GraphThresholdsStyleMode.Dashed),
    )
  }
  if (drawn === 'lines') return panel.drawStyle(common.GraphDrawStyle.Line).fillOpacity(5).spanNulls(false)
  panel
    .drawStyle(common.GraphDrawStyle.Bars)
    .fillOpacity(80)
    .min(face.min ?? 0)
  if (drawn === 'stacked bars') {
    panel.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal).group('A'))
  }
  return panel
}

function listLegend(calcs: string[]): common.VizLegendOptionsBuilder {
  return new common.VizLegendOptionsBuilder()
    .displayMode(common.LegendDisplayMode.List)
    .placement(common.LegendPlacement.Bottom)
    .showLegend(true)
    .calcs(calcs)
}

/** A row for each series; a value holds until the next one. `words` say what the values mean. */
export function timeline(face: PanelFace & Required<Pick<PanelFace, 'words'>>): TimelineBuilder {
  // Colours by thresholds would make one state of all those between two steps.
  return dress(new TimelineBuilder(), face)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassic))
    .spanNulls(true)
    .mergeValues(true)
    .showValue(common.VisibilityMode.Never)
    .rowHeight(0.8)
    .lineWidth(0)
    .fillOpacity(80)
    .legend(listLegend([]))
}

/** A link from a value to another place; `url` may name columns of its row as ${__data.fields.NAME}. */
export function linkTo(title: string, url: string): DashboardLinkBuilder {
  return new DashboardLinkBuilder(title).url(url)
}
