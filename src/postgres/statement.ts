/** A statement with named parameters (`:name`), numbered once so that the server can keep its plan. */
export interface Statement {
  readonly name: string
  readonly text: string
  /** Names of the parameters in the order of their numbers. */
  readonly order: readonly string[]
}

/** Numbers the named parameters of `text`. A cast (`::json`) is not a parameter. */
export function statement(name: string, text: string): Statement {
  const order: string[] = []
  const numbered = text.replace(/(?<!:):([a-z_]+)/g, (_, parameter: string) => {
    if (!order.includes(parameter)) order.push(parameter)
    return `$${order.indexOf(parameter) + 1}`
  })
  return { name, text: numbered, order }
}

export type Values = Readonly<Record<string, unknown>>

/** A statement with its values, as the driver takes it. */
export interface BoundStatement {
  readonly name: string
  readonly text: string
  values: unknown[]
}

/** Gives a statement its values. Throws when one was not given. */
export function bind(prepared: Statement, values: Values): BoundStatement {
  const bound = prepared.order.map(parameter => {
    const value = values[parameter]
    if (value === undefined) throw new TypeError(`statement ${prepared.name} lacks a value for :${parameter}`)
    return value
  })
  return { name: prepared.name, text: prepared.text, values: bound }
}

/** The same with values that are asked for when there is a session for it: what tells of the moment must not wait for one. */
export function bindLate(prepared: Statement, values: () => Values): BoundStatement {
  const { name, text } = prepared
  return {
    name,
    text,
    get values() {
      return bind(prepared, values()).values
    },
  }
}
