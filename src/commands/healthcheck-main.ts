import { exitCodeOf } from './cli/exit.ts'
import { healthcheck } from './healthcheck.ts'

/**
 * The health check by itself, as the image runs it beside the daemon and within the memory of the same container, of
 * which it takes some 35 MiB: it loads no command line. Its only argument is the configuration.
 */

const [, , config = 'penstock.yaml'] = process.argv

try {
  await healthcheck({ config })
} catch (error) {
  process.stderr.write(`penstock: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = exitCodeOf(error)
}
