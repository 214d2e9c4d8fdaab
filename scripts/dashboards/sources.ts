import type * as cog from '@grafana/grafana-foundation-sdk/cog'
import { type DataSourceRef, DatasourceVariableBuilder } from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'

/** What a dashboard reads from. Each is a variable whose default is the UID of the same name. */
export type Source = 'prometheus' | 'penstock'

const types: Readonly<Record<Source, string>> = {
  prometheus: 'prometheus',
  penstock: 'grafana-postgresql-datasource',
}

export function refTo(source: Source): DataSourceRef {
  return { type: types[source], uid: `\${${source}}` }
}

/** Lets a reader choose where the data comes from. */
export function sourceVariable(source: Source): DatasourceVariableBuilder {
  const label = { prometheus: 'Prometheus', penstock: 'Database' }[source]
  return new DatasourceVariableBuilder(source)
    .type(types[source])
    .label(label)
    .description('Where the data of this dashboard comes from')
    .current({ text: label, value: source })
}

/** A query as a panel, a variable or an annotation asks it. */
export interface Query {
  readonly source: Source
  readonly build: (refId: string) => cog.Builder<cog.Dataquery>
}

interface SqlTarget extends cog.Dataquery {
  readonly refId: string
  readonly datasource: DataSourceRef
  readonly editorMode: 'code'
  readonly rawQuery: true
  readonly rawSql: string
  readonly format: 'table' | 'time_series'
}

function sql(format: SqlTarget['format'], text: string): Query {
  return {
    source: 'penstock',
    build: refId => ({
      build: (): SqlTarget => ({
        ...{ refId, datasource: refTo('penstock'), editorMode: 'code', rawQuery: true, format },
        rawSql: text.trim(),
        _implementsDataqueryVariant() {},
      }),
    }),
  }
}

/** Rows as they are. */
export function sqlTable(text: string): Query {
  return sql('table', text)
}

/** Column time, sorted; then either numbers alone, or one number and a text named metric that names the line. */
export function sqlSeries(text: string): Query {
  return sql('time_series', text)
}

/** A line for each series, named by `legend`. */
export function promSeries(expr: string, legend: string): Query {
  return prom(expr, builder => builder.range().legendFormat(legend))
}

/** The newest value of each series. */
export function promNow(expr: string, legend: string): Query {
  return prom(expr, builder => builder.instant().legendFormat(legend))
}

/** The newest value of each series, a row each, a column for each label. */
export function promTable(expr: string): Query {
  return prom(expr, builder => builder.instant().format(PromQueryFormat.Table))
}

function prom(expr: string, finish: (builder: DataqueryBuilder) => DataqueryBuilder): Query {
  return {
    source: 'prometheus',
    build: refId =>
      finish(new DataqueryBuilder().refId(refId).datasource(refTo('prometheus')).expr(expr.trim())),
  }
}
