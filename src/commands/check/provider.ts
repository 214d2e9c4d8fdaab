import type { Clock, Random } from '../../clock/clock.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import type { Reply } from '../../engine/ports.ts'
import { createCredentials } from '../../http/authentication.ts'
import { createTransport } from '../../http/transport.ts'
import { classroomCodes, roomEvents } from '../../provider/classroom/index.ts'
import type { Failure } from '../../provider/errors.ts'
import { requestLine } from '../../provider/operation.ts'
import { credentialOptions, revealUids, serviceOf } from '../daemon.ts'
import { version } from '../version.ts'
import type { Finding } from './finding.ts'

/** Requests under way at once. */
const together = 4

/**
 * Asks for the log of a room that does not exist, once for each app: the answer that there is no such room proves
 * the address and the credentials. It consumes no event, and the provider documents no limit for it.
 */
export async function checkProvider(
  config: Config,
  ports: { readonly clock: Clock; readonly random: Random },
): Promise<readonly Finding[]> {
  const { clock, random } = ports
  const credentials = createCredentials(credentialOptions(config, clock, await revealUids(config)))
  const transport = createTransport({
    clock,
    random,
    credentials,
    providers: { classroom: serviceOf(config) },
    limits: { total: config.provider.classroom.deadline },
    userAgent: `penstock/${version}`,
  })
  const checkApp = async (app: AppConfig): Promise<Finding> => {
    const { id: appId, region } = app
    const request = requestLine(roomEvents, { region, appId, roomUuid: `penstock-check-${random.uuid()}` })
    return finding(appId, await transport.send(appId, request))
  }
  try {
    const findings: Finding[] = []
    for (let start = 0; start < config.apps.length; start += together) {
      findings.push(...(await Promise.all(config.apps.slice(start, start + together).map(checkApp))))
    }
    return findings
  } finally {
    await transport.close()
  }
}

function finding(app: string, reply: Reply): Finding {
  const subject = `app ${app}`
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
