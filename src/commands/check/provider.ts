import type { Clock, Random } from '../../clock/clock.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import type { Reply, Transport } from '../../engine/ports.ts'
import { createTransport } from '../../http/transport.ts'
import { classroomCodes, type Region, roomEvents } from '../../provider/classroom/index.ts'
import type { Failure } from '../../provider/errors.ts'
import { requestLine } from '../../provider/operation.ts'
import { engineSettings } from '../engine-settings.ts'
import { version } from '../wiring/installation.ts'
import { credentialsOf, providersOf } from '../wiring/services.ts'
import { analyticsCheck } from './analytics.ts'
import { checkCounted } from './counted.ts'
import type { Finding } from './finding.ts'
import { playersCheck } from './players.ts'

/** Requests under way at once. */
const together = 4

/** Asks each service that is configured one harmless question for each app. */
export async function checkProvider(
  config: Config,
  ports: {
    readonly clock: Clock
    readonly random: Random
    /** Address of the database; undefined where it is not fit for counting requests. */
    readonly databaseUrl: string | undefined
  },
): Promise<readonly Finding[]> {
  const { clock, random } = ports
  const transport = createTransport({
    clock,
    random,
    credentials: await credentialsOf(config, clock),
    providers: providersOf(config),
    proxy: await config.provider.proxy?.reveal(),
    limits: { total: engineSettings(config).deadline },
    userAgent: `penstock/${version}`,
  })
  try {
    const classrooms = await checkClassrooms(config, transport, random)
    const calls = await checkCounted(config, analyticsCheck(config, clock), { ...ports, transport })
    const players = await checkCounted(config, playersCheck(config), { ...ports, transport })
    return [...classrooms, ...calls, ...players]
  } finally {
    await transport.close()
  }
}

/**
 * Asks for the log of a room that does not exist, once for each region of an app: the answer that there is no such room
 * proves the address and the credentials. It consumes no event, and the provider documents no limit for it.
 */
async function checkClassrooms(
  { provider, apps }: Config,
  transport: Transport,
  random: Random,
): Promise<readonly Finding[]> {
  const checkIn = async (region: Region, { id: appId, regions }: AppConfig): Promise<Finding> => {
    const request = requestLine(roomEvents, { region, appId, roomUuid: `penstock-check-${random.uuid()}` })
    const subject = regions.length > 1 ? `app ${appId} in ${region}` : `app ${appId}`
    return finding(subject, await transport.send(appId, request))
  }
  const asked = apps
    .filter(app => provider.classroom && app.classroom)
    .flatMap(app => app.regions.map(region => () => checkIn(region, app)))
  const findings: Finding[] = []
  for (let start = 0; start < asked.length; start += together) {
    findings.push(...(await Promise.all(asked.slice(start, start + together).map(check => check()))))
  }
  return findings
}

function finding(subject: string, reply: Reply): Finding {
  const accepted = { subject, result: 'ok', text: 'the classroom service accepts the credentials' } as const
  if (reply.ok || reply.failure.code === classroomCodes.noRoom) return accepted
  return { subject, result: 'failed', text: `${reply.failure.text}${advice(reply.failure)}` }
}

function advice({ kind }: Failure): string {
  switch (kind) {
    case 'unauthorized':
      return ': look at classroom.uid and classroom.token of the app'
    case 'network':
    case 'timeout':
    case 'not_found':
    case 'redirect':
    case 'malformed':
      return ': look at provider.classroom.url'
    case 'bad_request':
      return ': look at the id and the region of the app'
    default:
      return ''
  }
}
