import { invalid } from './refusals.ts'
import type { PlayerRequest } from './visit.ts'

const regions: ReadonlySet<string> = new Set(['cn', 'ap', 'na', 'eu'])

/** Throws 400 for a region that there is not. */
export function readRegion({ params }: PlayerRequest): string {
  const { region = '' } = params
  if (!regions.has(region)) throw invalid('region')
  return region
}
