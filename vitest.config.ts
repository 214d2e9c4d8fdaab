import { defineConfig } from 'vitest/config'

const everywhere = '{test,sandbox/test,embedded-postgres/test}/**'

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
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
    projects: [
      {
        extends: true,
        test: {
          name: 'short',
          include: [`${everywhere}/*.test.ts`],
          exclude: [`${everywhere}/*.long.test.ts`],
        },
      },
      // What plays days, plants bugs, kills daemons, or starts many of them.
      { extends: true, test: { name: 'long', include: [`${everywhere}/*.long.test.ts`] } },
    ],
  },
})
