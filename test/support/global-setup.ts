import type { TestProject } from 'vitest/node'
import { openBroker } from './broker.ts'
import { startTestServer } from './postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The loopback port where a worker asks for the run's Postgres. */
    postgresBroker: number
  }
}

/** Runs once in a `vitest run`; what it answers runs at the end, after a failure too. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const broker = await openBroker(startTestServer)
  project.provide('postgresBroker', broker.port)
  return () => broker.close()
}
