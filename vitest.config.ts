import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{test,sandbox/test,embedded-postgres/test}/**/*.test.ts'],
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
    reporters: ['default'],
    watch: false,
  },
})
