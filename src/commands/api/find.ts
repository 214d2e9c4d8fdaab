import { allOperations } from '../../client/operations.ts'
import { nearest } from '../../config/suggest.ts'
import { called, type Operation } from '../../provider/operation.ts'
import { CommandError, exitUsage } from '../cli/exit.ts'

/** The operation of a name, however its letters are written. Throws CommandError with the name that may be meant. */
export function findOperation(name: string): Operation {
  const found = allOperations.find(each => called(each).toLowerCase() === name.toLowerCase())
  if (found) return found
  const meant = nearest(name, allOperations.map(called)) ?? ofOwnName(name)
  const hint = meant ? `did you mean ${meant}?` : '`penstock api` lists what there is'
  throw new CommandError(`there is no operation ${name.slice(0, 80)}; ${hint}`, exitUsage)
}

/** For who left the family out. */
function ofOwnName(name: string): string | undefined {
  const meant = nearest(
    name,
    allOperations.map(each => each.name),
  )
  const found = allOperations.find(each => each.name === meant)
  return found && called(found)
}
