import { text } from 'node:stream/consumers'
import { accessLine } from '../telemetry/access.ts'
import { CommandError, exitUsage } from './cli/exit.ts'
import { printLines } from './cli/output.ts'

/** Reads a password from standard input and prints the line of http.accessFile that lets its user in. */
export async function password({ user }: { readonly user: string }): Promise<void> {
  if (!/^[^:\s]{1,64}$/.test(user))
    throw new CommandError('--user must be 1 to 64 characters without : and spaces', exitUsage)
  const typed = (await text(process.stdin)).replace(/\r?\n$/, '')
  if (typed === '') throw new CommandError('give the password on standard input', exitUsage)
  printLines([await accessLine(user, typed)])
}
