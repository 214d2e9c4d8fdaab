/** The last multiple of `step` that is not after `second`. */
export function floorTo(second: number, step: number): number {
  return Math.floor(second / step) * step
}

/** The first multiple of `step` that is not before `second`. */
export function ceilTo(second: number, step: number): number {
  return Math.ceil(second / step) * step
}
