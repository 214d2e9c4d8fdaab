import { describe, expect, test } from 'vitest'
import { chart, helm, reasonToSkip, render, valuesFile } from './helm.ts'

/** A mistake, as an operator makes it in a file of values, and what helm says to it. */
type Mistake = readonly [mistake: string, values: object, message: RegExp]

const app = {
  id: 'a',
  region: 'ap',
  plan: 'premium',
  classroom: { uid: 'u', tokenFile: '/run/secrets/penstock/token' },
}
const withApp = (more: object) => ({ config: { apps: [{ ...app, ...more }] } })
const rest = { keyFile: '/run/secrets/penstock/key', secretFile: '/run/secrets/penstock/secret' }

const mistakes: readonly Mistake[] = [
  [
    'a key that there is not',
    { colour: 'red' },
    /there is no value colour: README\.md of the chart lists them/,
  ],
  [
    'a key of the configuration outside of it',
    { apps: [app] },
    /no value apps: it belongs to the configuration, as config\.apps/,
  ],
  ['fewer than no processes', { replicaCount: -1 }, /at '\/replicaCount': minimum: got -1, want 0/],
  ['no Secret', { existingSecret: '' }, /at '\/existingSecret': minLength: got 0, want 1/],
  [
    'a Secret with capitals',
    { existingSecret: 'Penstock' },
    /at '\/existingSecret': 'Penstock' does not match pattern/,
  ],
  [
    'a path in the place of a key',
    { migration: { key: 'a/b' } },
    /at '\/migration\/key': 'a\/b' does not match pattern/,
  ],
  [
    'a path in the place of a key that the migration sees',
    { migration: { files: ['tls/ca.crt'] } },
    /at '\/migration\/files\/0': 'tls\/ca\.crt' does not match pattern/,
  ],
  [
    'a certification authority that the migration would not see',
    { extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/run/secrets/penstock/ca.crt' }] },
    /extraEnv: NODE_EXTRA_CA_CERTS names \/run\/secrets\/penstock\/ca\.crt, .* put "ca\.crt" into its Secret, and into migration\.files/,
  ],
  [
    'a pooler between the migration and Postgres',
    { config: { database: { directUrlFile: '/run/secrets/penstock/direct-url' } } },
    /config\.database\.directUrlFile: .* name a Secret for the migration \(migration\.existingSecret\)/,
  ],
  [
    'a digest that is none',
    { image: { digest: 'latest' } },
    /at '\/image\/digest': 'latest' does not match pattern/,
  ],
  [
    'a tag with its name',
    { image: { tag: 'penstock:1' } },
    /at '\/image\/tag': 'penstock:1' does not match pattern/,
  ],
  [
    'an unknown pull policy',
    { image: { pullPolicy: 'Sometimes' } },
    /at '\/image\/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'/,
  ],
  [
    'less time to end than the drain takes',
    { terminationGracePeriodSeconds: 5 },
    /at '\/terminationGracePeriodSeconds': minimum: got 5, want 15/,
  ],
  [
    'memory without a unit that exists',
    { resources: { limits: { memory: '256MB' } } },
    /at '\/resources\/limits\/memory': '256MB' does not match pattern/,
  ],
  [
    'the user root',
    { podSecurityContext: { runAsUser: 0 } },
    /at '\/podSecurityContext\/runAsUser': minimum: got 0, want 1/,
  ],
  [
    'more rights',
    { podSecurityContext: { privileged: true } },
    /there is no value podSecurityContext\.privileged/,
  ],
  ['a list of variables as a mapping', { extraEnv: { A: 'b' } }, /at '\/extraEnv': got object, want array/],
  ['an old key', { replicas: 2 }, /there is no value replicas: write replicaCount/],
  ['an old mapping', { pod: { labels: {} } }, /there is no value pod: write podAnnotations, podLabels, /],
  ['a key of other charts', { sidecars: [] }, /there is no value sidecars: write extraContainers/],
  ['letters that changed places', { replicaCuont: 2 }, /no value replicaCuont: did you mean replicaCount\?/],
  ['capitals', { podlabels: {} }, /there is no value podlabels: did you mean podLabels\?/],
  [
    'a letter too many, further down',
    { serviceMonitor: { intervall: '15s' } },
    /there is no value serviceMonitor\.intervall: did you mean serviceMonitor\.interval\?/,
  ],
  [
    'an Ingress where no app takes notifications',
    { ingress: { enabled: true, hosts: [{ host: 'a.example.com' }] } },
    /ingress: .* once an app has notifications\.secretFile/,
  ],
  [
    'an Ingress without a host',
    { ingress: { enabled: true } },
    /at '\/ingress\/hosts': minItems: got 0, want 1/,
  ],
  [
    'a share of pods without its sign',
    { podDisruptionBudget: { minAvailable: 'half' } },
    /at '\/podDisruptionBudget\/minAvailable': 'half' does not match pattern/,
  ],
  [
    'a word for yes',
    { networkPolicy: { enabled: 'yes' } },
    /at '\/networkPolicy\/enabled': got string, want boolean/,
  ],
  [
    'a port that there is not',
    { networkPolicy: { postgres: { port: 70000 } } },
    /at '\/networkPolicy\/postgres\/port': maximum: got 70,000, want 65,535/,
  ],
  [
    'an interval without a unit',
    { serviceMonitor: { interval: '30' } },
    /at '\/serviceMonitor\/interval': '30' does not match pattern/,
  ],
  [
    'a threshold that there is not',
    { alerts: { thresholds: { lag: 3 } } },
    /there is no value alerts\.thresholds\.lag: did you mean alerts\.thresholds\.lag_seconds\?/,
  ],
  [
    'a threshold in words',
    { alerts: { thresholds: { lag_seconds: '5m' } } },
    /at '\/alerts\/thresholds\/lag_seconds': got string, want number/,
  ],
  [
    'a link that is no folder',
    { alerts: { runbookPrefix: 'https://wiki' } },
    /at '\/alerts\/runbookPrefix': 'https:\/\/wiki' does not match pattern/,
  ],
  [
    'alerts whose links lead nowhere',
    { alerts: { enabled: true } },
    /at '\/alerts\/runbookPrefix': minLength: got 0, want 1/,
  ],

  [
    'a misspelled key of the configuration',
    { config: { retentions: {} } },
    /at '\/config': additional properties 'retentions' not allowed/,
  ],
  ['no app', { config: { apps: [] } }, /at '\/config\/apps': minItems: got 0, want 1/],
  [
    'an app without a region',
    { config: { apps: [{ ...app, region: undefined }] } },
    /at '\/config\/apps\/0': missing property 'region'/,
  ],
  [
    'an unknown plan',
    withApp({ plan: 'gold' }),
    /at '\/config\/apps\/0\/plan': value must be one of 'starter', 'standard', 'premium', 'enterprise'/,
  ],
  [
    'an ID without quotes, of which a long number would lose digits',
    withApp({ id: 1234567890 }),
    /at '\/config\/apps\/0\/id': got number, want string/,
  ],
  [
    'an address without its scheme',
    { config: { provider: { classroom: { url: 'classroom.example.com' } } } },
    /at '\/config\/provider\/classroom\/url': 'classroom\.example\.com' does not match pattern/,
  ],
  [
    'a number in words',
    { config: { database: { poolSize: 'eight' } } },
    /at '\/config\/database\/poolSize': got string, want integer/,
  ],
  [
    'a number out of bounds',
    { config: { database: { poolSize: 1 } } },
    /at '\/config\/database\/poolSize': minimum: got 1, want 2/,
  ],
  [
    'a time without a unit',
    { config: { database: { lockTimeout: '5' } } },
    /at '\/config\/database\/lockTimeout': '5' does not match pattern/,
  ],
  [
    'a variable, which nobody would set',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own language
    { config: { log: { level: '${LEVEL}' } } },
    /at '\/config\/log\/level': value must be one of 'debug', 'info', 'warn', 'error'/,
  ],
  [
    'off without quotes, which YAML takes for false',
    { config: { streams: { poll: false } } },
    /at '\/config\/streams\/poll'/,
  ],

  [
    'a token in a ConfigMap',
    withApp({ classroom: { uid: 'u', token: 'secret' } }),
    /at '\/config\/apps\/0\/classroom': additional properties 'token' not allowed/,
  ],
  [
    'an app without any credential',
    { config: { apps: [{ ...app, classroom: undefined }] } },
    /at '\/config\/apps\/0': 'anyOf' failed/,
  ],
  ['no token at all', withApp({ classroom: { uid: 'u' } }), /missing property 'tokenFile'/],
  [
    'a token twice',
    withApp({ classroom: { ...app.classroom, tokenCommand: 'make-token' } }),
    /at '\/config\/apps\/0\/classroom': 'oneOf' failed, subschemas 0, 1 matched/,
  ],
  [
    'a REST key in a ConfigMap',
    withApp({ rest: { ...rest, key: 'k' } }),
    /at '\/config\/apps\/0\/rest': additional properties 'key' not allowed/,
  ],
  [
    'half a REST credential',
    withApp({ rest: { keyFile: rest.keyFile } }),
    /at '\/config\/apps\/0\/rest': missing property 'secretFile'/,
  ],
  [
    'a secret of notifications in a ConfigMap',
    withApp({ notifications: { secret: 's' } }),
    /at '\/config\/apps\/0\/notifications': additional properties 'secret' not allowed/,
  ],
  [
    'a file that no Secret is mounted at',
    withApp({ rest: { ...rest, keyFile: '/etc/key' } }),
    /at '\/config\/apps\/0\/rest\/keyFile': '\/etc\/key' does not match pattern/,
  ],
  [
    'a password in a ConfigMap',
    { config: { database: { url: 'postgres://a:b@c/d' } } },
    /at '\/config\/database': additional properties 'url' not allowed/,
  ],
  [
    'no address of the database',
    { config: { database: { urlFile: null } } },
    /at '\/config\/database': missing property 'urlFile'/,
  ],
  [
    'a Postgres in the pod',
    { config: { database: { dataDir: '/data' } } },
    /at '\/config\/database': additional properties 'dataDir' not allowed/,
  ],
  [
    'endpoints that nobody can reach',
    { config: { http: { listen: '127.0.0.1:9464' } } },
    /at '\/config\/http\/listen': '127\.0\.0\.1:9464' does not match pattern/,
  ],
  [
    'notifications where nobody can bring them',
    { config: { notifications: { listen: '127.0.0.1:9465' } } },
    /at '\/config\/notifications\/listen': '127\.0\.0\.1:9465' does not match pattern/,
  ],
  [
    'endpoints on a port that nobody knows',
    { config: { http: { listen: '0.0.0.0:0' } } },
    /at '\/config\/http\/listen': '0\.0\.0\.0:0' does not match pattern/,
  ],
]

describe.skipIf(reasonToSkip)('helm refuses', () => {
  test.each(mistakes)('%s', (_, values, message) => {
    const { status, stdout, stderr } = helm(
      ['template', 'school', chart, '--values', valuesFile('smallest')],
      values,
    )
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(message)
  })

  test('nothing of an app that is right', () => {
    expect(render('smallest', withApp({ rest })).objects.length).toBeGreaterThan(0)
  })
})
