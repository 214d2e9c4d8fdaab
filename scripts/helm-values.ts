import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { jsonSchemaText } from './config-reference.ts'
import { helmValues } from './helm-readme.ts'

/** A JSON schema of draft-07, as far as it is looked into here. */
interface Schema {
  readonly type?: unknown
  readonly pattern?: string
  readonly properties?: Schemas
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly not?: Schema
  readonly [keyword: string]: unknown
}

type Schemas = Readonly<Record<string, Schema>>

/** Schema of the values of helm/penstock, as the text of its file: the configuration's own schema, and the chart's. */
export async function helmValuesSchemaText(): Promise<string> {
  const { $schema, title: _, ...config } = JSON.parse(jsonSchemaText()) as Schema
  const comments = new Map((await helmValues()).map(({ key, comment }) => [key, comment]))
  const known = described(valueSchemas(inCluster(config), await thresholdSchemas()), comments)
  const values = { $schema, title: 'Values of the chart penstock', ...object(known) }
  return `${JSON.stringify(values, undefined, 2).replace(/\[[^[\]{}]+\]/g, oneLine)}\n`
}

interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly { readonly labels: Readonly<Record<string, string>> }[]
  }[]
}

/** The numbers that alerts compare with, by name. */
async function thresholdSchemas(): Promise<Schemas> {
  const file = new URL('../helm/penstock/rules/thresholds.yaml', import.meta.url)
  const { groups } = parse(await readFile(file, 'utf8')) as RuleFile
  const names = groups.flatMap(({ rules }) => rules.map(({ labels }) => labels.name!))
  return Object.fromEntries(names.map(name => [name, { type: 'number' }]))
}

/** Lists of words stand in one line, as the formatter of this repository has them. */
function oneLine(list: string): string {
  return list.replace(/\n\s*/g, ' ').replace('[ ', '[').replace(' ]', ']')
}

/** Keys of the chart, each with those below it; null where anything may stand, or the configuration's own schema says it. */
interface Keys {
  readonly [key: string]: Keys | null
}

/** Templates that know which keys there are: a schema of JSON refuses an unknown one and cannot say what was meant. */
export async function helmKeysText(): Promise<string> {
  const config = JSON.parse(jsonSchemaText()) as Schema
  const schemas = valueSchemas({}, await thresholdSchemas())
  const define = (name: string, value: unknown) =>
    `{{- define "penstock.${name}" -}}\n${JSON.stringify(value)}\n{{- end }}\n`
  return `{{- /* Made by npm run generate; edit scripts/helm-values.ts instead. */}}

${define('knownKeys', keysOf(schemas))}
${define('configKeys', Object.keys(config.properties ?? {}))}`
}

function keysOf(schemas: Schemas): Keys {
  const below = ({ properties }: Schema) => (properties ? keysOf(properties) : null)
  return Object.fromEntries(Object.entries(schemas).map(([key, schema]) => [key, below(schema)]))
}

/** Schemas with what the comments in values.yaml say of their keys. */
function described(schemas: Schemas, comments: ReadonlyMap<string, string>, path = ''): Schemas {
  const entries = Object.entries(schemas).map(([key, schema]) => {
    const description = comments.get(`${path}${key}`) ?? schema.description
    const properties = key === 'config' ? undefined : schema.properties
    return [
      key,
      {
        ...(description !== undefined && { description }),
        ...schema,
        ...(properties && { properties: described(properties, comments, `${path}${key}.`) }),
      },
    ] as const
  })
  return Object.fromEntries(entries)
}

function valueSchemas(config: Schema, thresholds: Schemas): Schemas {
  return {
    replicaCount: integer(0),
    image: object({
      repository: text({ minLength: 1 }),
      tag: text({ pattern: '^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$' }),
      digest: text({ pattern: '^(sha256:[0-9a-f]{64})?$' }),
      pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
    }),
    imagePullSecrets: listOf({
      ...object({ name: text({ minLength: 1 }) }, ['name']),
      additionalProperties: false,
    }),
    nameOverride: text(),
    fullnameOverride: text(),
    existingSecret: text({ minLength: 1, pattern: objectName }),
    config,
    extraEnv: listOf(named),
    envFrom: objects,
    extraVolumes: listOf(named),
    extraVolumeMounts: listOf({ ...named, required: ['name', 'mountPath'] }),
    initContainers: listOf(named),
    extraContainers: listOf(named),
    migration: object({
      enabled: boolean,
      existingSecret: text({ pattern: `^$|${objectName}` }),
      key: text({ pattern: secretKey }),
      files: listOf(text({ pattern: secretKey })),
      activeDeadlineSeconds: integer(1),
    }),
    resources: object({ requests: map(quantity), limits: map(quantity) }),
    podSecurityContext: object({ runAsUser: integer(1), runAsGroup: integer(1), fsGroup: integer(1) }),
    serviceAccount: object({
      create: boolean,
      annotations: map(text()),
      name: text({ pattern: `^$|${objectName}` }),
    }),
    terminationGracePeriodSeconds: integer(15),
    podAnnotations: map(text()),
    podLabels: map(text()),
    nodeSelector: map(text()),
    tolerations: objects,
    affinity: { type: 'object' },
    topologySpreadConstraints: objects,
    priorityClassName: text(),
    service: object({ annotations: map(text()) }),
    ingress: {
      ...object({
        enabled: boolean,
        className: text(),
        annotations: map(text()),
        hosts: listOf({
          ...object(
            {
              host: text({ minLength: 1 }),
              paths: listOf({
                ...object(
                  {
                    path: text({ pattern: '^/' }),
                    pathType: { enum: ['Exact', 'Prefix', 'ImplementationSpecific'] },
                  },
                  ['path'],
                ),
                additionalProperties: false,
              }),
            },
            ['host'],
          ),
          additionalProperties: false,
        }),
        tls: objects,
      }),
      if: { properties: { enabled: { const: true } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { hosts: { minItems: 1 } } },
    },
    podDisruptionBudget: object({
      enabled: boolean,
      maxUnavailable: podsOrShare,
      minAvailable: { ...podsOrShare, type: ['integer', 'string', 'null'] },
    }),
    networkPolicy: object({
      enabled: boolean,
      ingressFrom: objects,
      notificationsFrom: objects,
      postgres: object({ port: integer(1, 65_535), to: objects }),
      egress: objects,
    }),
    serviceMonitor: object({
      enabled: boolean,
      namespace: text({ pattern: `^$|${objectName}` }),
      labels: map(text()),
      interval: text({ pattern: promDuration }),
      scrapeTimeout: text({ pattern: promDuration }),
      basicAuth: { type: 'object' },
      relabelings: objects,
      metricRelabelings: objects,
    }),
    alerts: {
      ...object({
        enabled: boolean,
        labels: map(text()),
        thresholds: object(thresholds),
        runbookPrefix: text({ pattern: '^(https?://.*/)?$' }),
      }),
      if: { properties: { enabled: { const: false } } },
      else: { properties: { runbookPrefix: { minLength: 1 } } },
    },
    dashboards: object({ enabled: boolean, labels: map(text()), annotations: map(text()) }),
    global: { type: 'object', description: 'Where this chart is part of another one.' },
  }
}

const boolean: Schema = { type: 'boolean' }
const objectName = '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'
const promDuration = '^[0-9]+(ms|s|m|h)$'
const secretKey = '^[-._a-zA-Z0-9]+$'
const quantity: Schema = {
  type: ['string', 'number'],
  pattern: '^[0-9]+([.][0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$',
}

/** Something of Kubernetes' own: its schema says what else there is. */
const named: Schema = { type: 'object', required: ['name'] }
const objects: Schema = listOf({ type: 'object' })
/** A number of pods, or a percentage. */
const podsOrShare: Schema = { type: ['integer', 'string'], minimum: 0, pattern: '^[0-9]{1,3}%$' }

function text(more: Schema = {}): Schema {
  return { type: 'string', ...more }
}

function integer(minimum: number, maximum?: number): Schema {
  return { type: 'integer', minimum, ...(maximum !== undefined && { maximum }) }
}

function listOf(items: Schema): Schema {
  return { type: 'array', items }
}

function map(values: Schema): Schema {
  return { type: 'object', additionalProperties: values }
}

/** Keys besides are refused by the chart itself, which says what was meant. */
function object(properties: Schemas, required: readonly string[] = []): Schema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

/**
 * The schema of the configuration, narrowed to what can be right in a cluster: every secret in a file of the Secret,
 * endpoints that can be reached, no Postgres of its own, and no variables, since Helm has values. Texts are texts:
 * Helm would write a long number as 1.2e+10.
 */
function inCluster(config: Schema): Schema {
  const narrowed = narrow(config)
  const { http, notifications, database, ...others } = narrowed.properties ?? {}
  const { dataDir: _, ...kept } = database?.properties ?? {}
  const reachable = (listener: Schema | undefined, port: number): Schema => ({
    ...listener,
    properties: {
      ...listener?.properties,
      listen: {
        ...listener?.properties?.listen,
        default: `0.0.0.0:${port}`,
        pattern: '^(0\\.0\\.0\\.0|\\[::\\]):[1-9][0-9]{0,4}$',
      },
    },
    required: ['listen'],
  })
  const properties = {
    http: reachable(http, 9464),
    notifications: reachable(notifications, 9465),
    database: { ...database, properties: kept, required: ['urlFile'] },
    ...others,
  }
  return { ...narrowed, properties, required: ['http', 'database', ...(narrowed.required ?? [])] }
}

function narrow(schema: Schema): Schema {
  const { anyOf, allOf, properties, items, ...rest } = schema
  const kept = anyOf?.filter(option => !isVariable(option)).map(narrow)
  const [only, ...more] = kept ?? []
  return {
    ...rest,
    ...(Array.isArray(rest.type) && rest.type.includes('string') && { type: 'string' }),
    ...(only && more.length > 0 && { anyOf: [only, ...more] }),
    ...(only && more.length === 0 && only),
    ...(items && { items: narrow(items) }),
    ...(properties && secretsInFiles(properties, rest.required ?? [], allOf ?? [])),
  }
}

function isVariable({ pattern }: Schema): boolean {
  return pattern === '\\$\\{'
}

/** A user ID alone opens nothing, so it may be written down. */
const noSecrets: readonly string[] = ['uid']

const secretFile = '^/run/secrets/penstock/[-._a-zA-Z0-9]+$'

/** Of a key and its file the file alone is left, and is required where one of the two is. */
function secretsInFiles(
  properties: Schemas,
  required: readonly string[],
  choices: readonly Schema[],
): Schema {
  const isWithheld = (key: string) => `${key}File` in properties && !noSecrets.includes(key)
  const left = Object.entries(properties)
    .filter(([key]) => !isWithheld(key))
    .map(([key, schema]) => {
      const isFile = key.endsWith('File') && key.slice(0, -'File'.length) in properties
      return [key, isFile ? { ...narrow(schema), pattern: secretFile } : narrow(schema)] as const
    })
  const decided = choices.flatMap(choice => leftOf(choice, isWithheld))
  const musts = [...required, ...decided.flatMap(must => must.required ?? [])]
  const open = decided.filter(must => must.oneOf ?? must.anyOf)
  return {
    properties: Object.fromEntries(left),
    ...(musts.length > 0 && { required: musts }),
    ...(open.length > 0 && { allOf: open }),
  }
}

/** What is left of "one of these keys" without those that are withheld; sections never are. */
function leftOf({ anyOf, oneOf, not }: Schema, isWithheld: (key: string) => boolean): readonly Schema[] {
  if (anyOf) return [{ anyOf }]
  if (not) return []
  const open = (oneOf ?? []).filter(({ required = [] }) => !required.some(isWithheld))
  return open.length === 1 ? open : [{ oneOf: open }]
}
