import type { CallSession } from '../calls.ts'
import { hashOf, hashOn } from '../hash.ts'

export interface Equipment {
  readonly platform: string
  readonly network: string
  readonly deviceType: string
  readonly sdkVersion: string
}

/** What people sit at: devices by platform, in the words of services of this kind. */
const devices = [
  ['Windows', ['PC', 'ThinkPad X1']],
  ['macOS', ['MacBookPro18,3', 'iMac21,1']],
  ['iOS', ['iPhone14,5', 'iPad13,1']],
  ['Android', ['SM-A536B', 'Pixel 7', 'Redmi Note 12']],
  ['Web', ['Chrome 126', 'Safari 17', 'Firefox 127']],
] as const
const networks = ['WiFi', 'WiFi', 'WiFi', '4G', '5G', 'Ethernet'] as const
const versions = ['4.2.6', '4.3.0', '4.3.2'] as const

const server: Equipment = {
  platform: 'Linux',
  network: 'Ethernet',
  deviceType: 'Server',
  sdkVersion: '4.2.6',
}

/** A person always sits at the same device; the network may be another one each time. */
export function equipmentOf({ sid, uid, user }: CallSession): Equipment {
  if (user === 'recorder') return server
  const person = hashOf('device', uid)
  const [platform, models] = pick(devices, person)
  return {
    platform,
    network: pick(networks, hashOf('network', sid)),
    deviceType: pick(models, hashOn(person, 1)),
    sdkVersion: pick(versions, hashOn(person, 2)),
  }
}

/** The product whose values a session counts for. */
export function productOf(session: CallSession): 'Native' | 'WebRTC' {
  const isWeb = session.user === 'person' && pick(devices, hashOf('device', session.uid))[0] === 'Web'
  return isWeb ? 'WebRTC' : 'Native'
}

function pick<T>(choices: readonly T[], hash: number): T {
  return choices[hash % choices.length]!
}
