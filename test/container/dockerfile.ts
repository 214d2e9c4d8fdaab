import { readFileSync } from 'node:fs'

export interface Instruction {
  readonly line: number
  readonly name: string
  /** `--from=packages` and the like, which come before everything else. */
  readonly flags: Readonly<Record<string, string>>
  readonly text: string
}

/** One FROM and what follows it. */
export interface Stage {
  readonly image: string
  /** What other stages call it; the empty string where it has no name. */
  readonly name: string
  readonly instructions: readonly Instruction[]
}

/** Reads a Dockerfile as far as ours goes: throws on what it does not know rather than overlook it. */
export function readDockerfile(path: string): readonly Stage[] {
  const stages: { image: string; name: string; instructions: Instruction[] }[] = []
  for (const instruction of instructionsOf(readFileSync(path, 'utf8'))) {
    if (instruction.name !== 'FROM') {
      if (!stages.at(-1)) throw new Error(`line ${instruction.line}: ${instruction.name} before FROM`)
      stages.at(-1)!.instructions.push(instruction)
      continue
    }
    const [, image, name = ''] = /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(instruction.text) ?? []
    if (!image) throw new Error(`line ${instruction.line}: FROM ${instruction.text}`)
    stages.push({ image, name, instructions: [] })
  }
  return stages
}

/** The stage of this name. */
export function stageOf(stages: readonly Stage[], name: string): Stage {
  const found = stages.find(stage => stage.name === name)
  if (!found) throw new Error(`there is no stage ${name}`)
  return found
}

const names =
  /^(FROM|LABEL|ENV|WORKDIR|COPY|ADD|RUN|USER|EXPOSE|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT|CMD|ARG|VOLUME|SHELL)$/

function instructionsOf(text: string): readonly Instruction[] {
  const found: Instruction[] = []
  let open: { line: number; text: string } | undefined
  for (const [i, line] of text.split('\n').entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const { line: first, text: before } = open ?? { line: i + 1, text: '' }
    const goesOn = line.endsWith('\\')
    const whole = `${before}${goesOn ? line.slice(0, -1) : line} `
    open = goesOn ? { line: first, text: whole } : undefined
    if (!goesOn) found.push(instructionOf(first, whole.trim()))
  }
  if (open) throw new Error(`line ${open.line}: nothing follows the last \\`)
  return found
}

function instructionOf(line: number, whole: string): Instruction {
  const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/s.exec(whole) ?? []
  if (!names.test(name)) throw new Error(`line ${line}: ${whole}`)
  const [, flags = '', text = ''] = /^((?:--[\w-]+=\S+\s+)*)(.*)$/s.exec(rest) ?? []
  const pairs = [...flags.matchAll(/--([\w-]+)=(\S+)/g)].map(([, flag, value]) => [flag!, value!] as const)
  return { line, name, flags: Object.fromEntries(pairs), text: text.trim().replaceAll(/\s+/g, ' ') }
}

/** The words of ENTRYPOINT, CMD and the like in their exec form; throws for the form that starts a shell. */
export function execForm(text: string): readonly string[] {
  const words: unknown = text.startsWith('[') ? JSON.parse(text) : undefined
  if (Array.isArray(words) && words.every(word => typeof word === 'string')) return words
  throw new Error(`not in exec form, so signals would end at a shell: ${text}`)
}

/** NAME=value pairs of LABEL and ENV. */
export function pairsOf(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/([\w.-]+)=(?:"([^"]*)"|(\S+))/g)]
  return Object.fromEntries(pairs.map(([, name, quoted, plain]) => [name!, quoted ?? plain!]))
}
