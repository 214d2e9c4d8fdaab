import { fileURLToPath } from 'node:url'

/** The environment in which Node compiles the program once, and not for each of the processes that a test starts. */
export const compiledOnce = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)),
} as const
