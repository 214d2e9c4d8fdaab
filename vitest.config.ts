import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const everywhere = '{test,sandbox/test,embedded-postgres/test}/**'

/** The first fills the school that others read, all take minutes: begun late, one worker would end alone. */
const first = ['dashboards/sql', 'e2e/classroom', 'e2e/analytics'].map(asPath)
/** They read the school, and while it is being filled a worker would only wait with them. */
const last = ['sql-cookbook/rights', 'sql-cookbook/sql'].map(asPath)

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const isOf = (path: string) => moduleId.endsWith(path)
      return first.some(isOf) ? first.findIndex(isOf) : first.length + Number(last.some(isOf))
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

function asPath(name: string): string {
  return `/test/${name}.long.test.ts`
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Worlds with processes of their own: more of them at once would spend their lives on starting.
    maxConcurrency: 3,
    // Only what hangs should end here: tests that start many processes take long on a busy machine. A file that plays
    // a whole day or kills processes sets its own, longer limit.
    testTimeout: 300_000,
    // The first file to ask for a database waits here for the server to start and for its migrations.
    hookTimeout: 600_000,
    teardownTimeout: 60_000,
    // What is waited for comes late on a busy machine; a second is the default.
    expect: { poll: { timeout: 60_000 } },
    reporters: ['default'],
    // A list that should be empty says what is in it.
    chaiConfig: { truncateThreshold: 1_500 },
    watch: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'short',
          // Nothing in src keeps anything in a module that a test could change, and to load it anew for each file takes
          // longer than most of the files do.
          isolate: false,
          // One more than there are cores: a file often waits, for Postgres or for a process.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
          include: [`${everywhere}/*.test.ts`],
          exclude: [`${everywhere}/*.long.test.ts`],
        },
      },
      // What plays days, plants bugs, kills daemons, or starts many of them.
      {
        extends: true,
        test: {
          name: 'long',
          include: [`${everywhere}/*.long.test.ts`],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
