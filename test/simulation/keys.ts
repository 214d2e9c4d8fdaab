import type { AppOptions } from '../../sandbox/src/index.ts'
import type { AppConfig, Config } from '../../src/config/config.ts'
import { Secret } from '../../src/config/secret.ts'

/** What the provider takes of an app, and what stands in the files of its operator. */
interface Key {
  readonly token: string
  readonly secret: string
}

/**
 * Secrets of the apps that are changed while daemons run: from then on the provider takes the new ones alone, and some time
 * later the files say them.
 */
export class Keys {
  #taken = 0
  #written = 0

  /** The app as the provider knows it at any moment. */
  known(app: AppOptions): AppOptions {
    const taken = () => keyOf(app, this.#taken)
    return {
      ...app,
      get token() {
        return taken().token
      },
      get rest() {
        return { key: app.rest!.key, secret: taken().secret }
      },
    }
  }

  /** The configuration with its secrets in files. */
  inFiles(config: Config, apps: readonly AppOptions[]): Config {
    const filesOf = (said: AppConfig): AppConfig => {
      const app = apps.find(({ id }) => id === said.id)
      if (!app) return said
      const file = (what: keyof Key) =>
        Secret.from(async () => keyOf(app, this.#written)[what], `file ${what} of ${app.id}`)
      return {
        ...said,
        classroom: said.classroom && { ...said.classroom, token: file('token') },
        rest: said.rest && { ...said.rest, secret: file('secret') },
      }
    }
    return { ...config, apps: config.apps.map(filesOf) }
  }

  change(): void {
    this.#taken += 1
  }

  write(): void {
    this.#written = this.#taken
  }
}

/** Its n-th secrets; apps with one credential have the same. */
function keyOf({ token, rest }: AppOptions, n: number): Key {
  const after = n === 0 ? '' : `-${n}`
  return { token: `${token}${after}`, secret: `${rest?.secret ?? ''}${after}` }
}
