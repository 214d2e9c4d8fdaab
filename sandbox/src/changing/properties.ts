import {
  deleteExtAppProperties,
  deleteRoomProperties,
  deleteUserProperties,
  extAppStates,
  updateExtAppProperties,
  updateRoomProperties,
  updateUserProperties,
} from '../../../src/provider/classroom/index.ts'
import type { Operation } from '../../../src/provider/operation.ts'
import type { Classrooms } from '../classrooms.ts'
import { noUser } from '../refusal.ts'
import { identifier, type Play, type RequestContext, roomOf } from '../request-context.ts'
import type { Held, Properties } from '../world.ts'
import { type Fields, oneOf, optional, readBody, required } from './body.ts'

/** What becomes of the properties that were there. */
type Change = (properties: Properties) => Properties

/** Whose properties they are: checks what only this owner has to say, then changes them. */
type Owner = (context: RequestContext, fields: Fields) => (held: Held, change: Change) => void

/** Operations 11 to 16. The document names no event for them. */
export function propertyPlays(classrooms: Classrooms): readonly Play[] {
  const play = (operation: Operation, owner: Owner, read: (fields: Fields) => Change): Play => ({
    operation,
    act: context => {
      const fields = readBody(context.sent)
      const change = read(fields)
      const cause = optional(fields, 'cause', 'Object')
      const apply = owner(context, fields)
      const { held } = classrooms.of(roomOf(context)).classroom.contents
      apply(held, change)
      if (cause) held.causes.push(cause)
    },
  })
  const user = ofUser(classrooms)
  return [
    play(updateRoomProperties, ofRoom, update),
    play(deleteRoomProperties, ofRoom, removal),
    play(updateUserProperties, user, update),
    play(deleteUserProperties, user, removal),
    play(updateExtAppProperties, ofExtApp(readState), update),
    play(deleteExtAppProperties, ofExtApp(noState), removal),
  ]
}

/** Those that are named take their new values, the others stay. */
function update(fields: Fields): Change {
  const changed = required(fields, 'properties', 'Object')
  return properties => ({ ...properties, ...changed })
}

/** A name that is not there is passed over. */
function removal(fields: Fields): Change {
  const names = new Set(required(fields, 'properties', 'String array'))
  return properties => Object.fromEntries(Object.entries(properties).filter(([name]) => !names.has(name)))
}

const ofRoom: Owner = () => (held, change) => {
  held.properties = change(held.properties)
}

/** A user exists once they have entered the room, and still does after leaving it. */
function ofUser(classrooms: Classrooms): Owner {
  return context => {
    const userUuid = identifier(context, 'userUuid')
    return ({ users }, change) => {
      if (!classrooms.of(roomOf(context)).classroom.known.has(userUuid)) throw noUser()
      users.set(userUuid, change(users.get(userUuid) ?? {}))
    }
  }
}

/** No operation makes an extApp: one that nobody has heard of has no properties yet. */
function ofExtApp(readState: (fields: Fields) => number | undefined): Owner {
  return (context, fields) => {
    const extAppUuid = identifier(context, 'extAppUuid')
    const state = readState(fields)
    return ({ extApps }, change) => {
      const former = extApps.get(extAppUuid)
      const properties = change(former?.properties ?? {})
      extApps.set(extAppUuid, { properties, state: state ?? former?.state })
    }
  }
}

function readState(fields: Fields): number | undefined {
  const common = optional(fields, 'common', 'Object')
  if (!common) return undefined
  return oneOf(Object.values(extAppStates), required(common, 'state', 'Number'), 'common.state')
}

function noState(): undefined {}
