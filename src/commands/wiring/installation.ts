import { existsSync } from 'node:fs'
import manifest from '../../../package.json' with { type: 'json' }
import { CommandError, type ExitCode, exitBadConfig, exitUsage } from '../cli/exit.ts'

/*
 * The sandbox and the embedded Postgres stand beside `src`, each a workspace with packages of its own. A clone has
 * them; the published package and the daemon's image do not.
 */

const elsewhere = 'run it from a clone of the project (npm start), or from the image with the suffix -demo'

/** Throws a CommandError where this installation has no sandbox. */
export function loadSandbox() {
  return load(() => import('../../../sandbox/src/index.ts'), {
    absent: 'sandbox/src/index.',
    sentence: `this installation has no sandbox: ${elsewhere}`,
    exitCode: exitUsage,
  })
}

/** Throws a CommandError where this installation brings no Postgres of its own. */
export function loadEmbeddedPostgres(
  { sentence, exitCode }: { readonly sentence: string; readonly exitCode: ExitCode } = {
    sentence: `this installation has no embedded Postgres: ${elsewhere}`,
    exitCode: exitUsage,
  },
) {
  const absent = 'embedded-postgres/src/index.'
  return load(() => import('../../../embedded-postgres/src/index.ts'), { absent, sentence, exitCode })
}

/** Whether this installation brings a Postgres of its own. */
export function hasEmbeddedPostgres(): boolean {
  return existsSync(new URL('../../../embedded-postgres/src', import.meta.url))
}

/** For a configuration that asks for it. */
export function loadConfiguredPostgres() {
  return loadEmbeddedPostgres({
    sentence:
      'database.url is "embedded", but this installation brings no Postgres: set it to an existing one, ' +
      'postgres://user:password@host/database (15 or newer), or run Penstock from a clone of the project',
    exitCode: exitBadConfig,
  })
}

/** A package that the workspace needs and lacks is another mistake, and is told as it is. */
async function load<Module>(
  bring: () => Promise<Module>,
  { absent, sentence, exitCode }: { absent: string; sentence: string; exitCode: ExitCode },
): Promise<Module> {
  try {
    return await bring()
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing || !('url' in error && String(error.url).includes(absent))) throw error
    throw new CommandError(sentence, exitCode, { cause: error })
  }
}

export const version: string = manifest.version
