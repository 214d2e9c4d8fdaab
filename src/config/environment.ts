/** Variables by name, as in process.env. */
export type Environment = Readonly<Record<string, string | undefined>>

export type Substituted =
  | { readonly ok: true; readonly text: string; readonly variables: readonly string[] }
  | { readonly ok: false; readonly problem: string }

const reference = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{)[^}])*))?\}|\$\{/g

/**
 * Replaces `${NAME}` and `${NAME:-default}` anywhere in a text; `$${` stands for a literal `${`. A default is
 * used when the variable is unset or empty. What a variable holds is never read as a reference again.
 */
export function substitute(text: string, env: Environment): Substituted {
  const variables: string[] = []
  const problems: string[] = []
  const replaced = text.replace(
    reference,
    (whole: string, name: string | undefined, fallback: string | undefined) => {
      if (whole === '$${') return '${'
      if (name === undefined) {
        problems.push(`"\${" must be followed by NAME} or NAME:-default}; write "$\${" for a literal "\${"`)
        return ''
      }
      variables.push(name)
      const value = env[name]
      if (fallback !== undefined) return value ? value : fallback
      if (value !== undefined) return value
      problems.push(
        `the environment variable ${name} is not set; set it, or give a default: \${${name}:-default}`,
      )
      return ''
    },
  )
  const [problem] = problems
  return problem === undefined ? { ok: true, text: replaced, variables } : { ok: false, problem }
}
