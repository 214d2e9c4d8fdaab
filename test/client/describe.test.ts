import { describe, expect, test } from 'vitest'
import { describeOperation, type FieldFacts } from '../../src/client/describe.ts'
import { allOperations, operations } from '../../src/provider/index.ts'
import { called } from '../../src/provider/operation.ts'

const byName = (facts: readonly FieldFacts[]) => Object.fromEntries(facts.map(fact => [fact.name, fact]))

describe('the contract as people read it', () => {
  test.each(allOperations.map(each => [called(each), each] as const))(
    'every parameter of %s, and every field of one, has its rule',
    (_name, operation) => {
      const silent = (fields: readonly FieldFacts[]): readonly string[] =>
        fields.flatMap(({ name, rule, fields: inner }) => [...(rule ? [] : [name]), ...silent(inner)])
      expect(silent(describeOperation(operation))).toEqual([])
    },
  )

  test('places and requirements are those of the contract', () => {
    const facts = describeOperation(operations.classroom.uploadResource)
    expect(facts.map(({ name, place, required, type }) => [name, place, required, type])).toEqual([
      ['region', 'path', true, 'cn or ap or eu or na'],
      ['appId', 'path', true, 'text'],
      ['roomUuid', 'path', true, 'text'],
      ['resourceUuid', 'path', true, 'text'],
      ['resourceName', 'body', false, 'text'],
      ['size', 'body', true, 'integer'],
      ['ext', 'body', true, 'text'],
      ['url', 'body', true, 'text'],
      ['conversion', 'body', false, 'object'],
    ])
  })

  test('how a value is written on a command line follows from its type', () => {
    const kinds = (facts: readonly FieldFacts[]) => facts.map(({ name, kind }) => `${name} ${kind}`)
    expect(kinds(describeOperation(operations.analytics.callSessions))).toEqual([
      ...[
        'start_ts number',
        'end_ts number',
        'appid text',
        'call_id text',
        'page_no number',
        'page_size number',
      ],
      ...['uids text', 'exclude_server_user boolean'],
    ])
    expect(kinds(describeOperation(operations.classroom.deleteResources)).at(-1)).toBe('resourceUuids json')
    expect(kinds(describeOperation(operations.classroom.setRoomState)).at(-1)).toBe('state number')
    expect(kinds(describeOperation(operations.classroom.roomEvents)).slice(-2)).toEqual([
      'nextId text',
      'cmd number',
    ])
  })

  test('a few values stand in for the type, many stand in the rule', () => {
    const { encryptMode, videoOptions } = byName(describeOperation(operations.players.createPlayer))
    expect(encryptMode!.type).toBe('text')
    expect(encryptMode!.rule).toMatch(/; one of aes-128-xts, .*, aes-256-gcm2$/)
    expect(byName(videoOptions!.fields).fillMode!.type).toBe('fit or fill')
  })

  test('only what opens a channel or its stream is secret', () => {
    const secrets = allOperations.flatMap(operation =>
      describeOperation(operation)
        .filter(({ secret }) => secret)
        .map(({ name }) => `${called(operation)} ${name}`),
    )
    expect(secrets).toEqual([
      'players.createPlayer token',
      'players.createPlayer encryptKey',
      'players.createPlayer encryptKdfSalt',
    ])
  })
})
